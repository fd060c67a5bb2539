/** The offers of a shop whose money an operator brings to another network from its inventory, by the operator's quotes. */
import type { Asset, AssetTable, OnwardOffer, OnwardOffers, OnwardOption, OnwardQuote } from "@pontage/core"
import * as Amount from "@pontage/core/Amount"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as InventoryTerms from "../payment/InventoryTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"

/** An operator's quote of one pair, as it travels. */
const Quote = Schema.Struct({
  kind: Schema.Literal("inventory"),
  from: EvmAddress.FromText,
  network: Schema.String,
  asset: Schema.String,
  account: EvmAddress.FromText,
  fee: Amount.FromText,
  minimumAmount: Amount.FromText,
  maximumAmount: Amount.FromText,
  quotedUntil: Schema.Int
})

type Quote = typeof Quote.Type

const decode = Schema.decodeUnknownOption(Quote)

/** Quotes are read at every request, and are the same ones for minutes. */
const seen = new WeakMap<OnwardQuote, Quote | undefined>()

const read = (json: OnwardQuote): Quote | undefined => {
  if (!seen.has(json)) seen.set(json, Option.getOrUndefined(decode(json)))
  return seen.get(json)
}

/** Checks an option, and makes its offers; `text` is the operator's account that the shop trusts with the money on its way. */
export const make = (
  assets: AssetTable.AssetTable,
  option: OnwardOption,
  text: string
): Result.Result<OnwardOffers, string> =>
  Result.gen(function* () {
    const { asset: paid } = option
    if (!EvmAsset.hasAuthorizations(paid)) {
      yield* Result.fail(`${paid.symbol} has no transfer authorizations (EIP-3009), by which inventories are paid`)
    }
    const account = EvmAddress.fromText(text)
    if (account === undefined) return yield* Result.fail(`inventory "${text}" is not an address`)
    const arriving = yield* arrivingOf(assets, option)
    const payTo = payeeOf(option, account, arriving)
    if (payTo === undefined) return yield* Result.fail(`payTo "${option.payTo}" cannot be paid there`)
    const offer = (price: bigint, fee: bigint, quotedUntil: number): OnwardOffer => ({
      payTo: EvmAddress.checksum(account),
      amount: price + fee,
      extra: {
        assetTransferMethod: InventoryTerms.method,
        inventory: {
          network: arriving.network,
          asset: arriving.address,
          payTo,
          amount: `${price}`,
          fee: `${fee}`,
          quotedUntil
        }
      }
    })
    const isFor = isOver(account, paid, arriving)
    return {
      network: arriving.network,
      onRecord: (price) => offer(price, 0n, 0),
      quoted: (price, quotes) => {
        const quote = quotes.map(read).find((one) => one !== undefined && isFor(one))
        if (quote === undefined) return undefined
        const { fee, maximumAmount, minimumAmount, quotedUntil } = quote
        const isWithin = price >= minimumAmount && price <= maximumAmount
        return { offer: isWithin ? offer(price, fee, quotedUntil) : undefined, quotedUntil }
      }
    }
  })

/** The payee in the wire form of the other network's family; `undefined` where it cannot be paid. */
const payeeOf = (
  { payTo: text, there }: OnwardOption,
  account: EvmAddress.Address,
  arriving: Asset
): string | undefined => {
  if (there !== undefined) return text === there.address ? undefined : text
  const payTo = EvmAddress.fromText(text)
  const unpayable = [EvmAddress.zero, account, EvmAsset.domain(arriving).verifyingContract]
  return payTo === undefined || unpayable.some((address) => address === payTo) ? undefined : EvmAddress.checksum(payTo)
}

/** The token that arrives on the other network. */
const arrivingOf = (assets: AssetTable.AssetTable, option: OnwardOption): Result.Result<Asset, string> =>
  Result.flatMap(option.there === undefined ? knownOf(assets, option) : Result.succeed(option.there), (asset) =>
    asset.decimals === option.asset.decimals
      ? Result.succeed(asset)
      : Result.fail(
          `${option.asset.symbol} and ${asset.symbol} on ${asset.network} have different decimals; name another asset`
        )
  )

const knownOf = (
  assets: AssetTable.AssetTable,
  { arriving, asset: { network: from }, network: text }: OnwardOption
): Result.Result<Asset, string> => {
  const network = EvmNetwork.fromText(text)
  if (network === undefined) return Result.fail(`network "${text}" ${EvmNetwork.fault}`)
  if (network === from) return Result.fail(`the money is paid on ${network} already; remove onward`)
  const asset = assets.find(network, arriving)
  if (asset === undefined) {
    return Result.fail(
      `${arriving === undefined ? "no dollar token" : `no token ${arriving}`} is known on ${network}; give it to exactEvm.server as one of assets`
    )
  }
  return Result.succeed(asset)
}

const isOver =
  (account: EvmAddress.Address, paid: Asset, arriving: Asset) =>
  ({ account: quoted, asset, from, network }: Quote): boolean =>
    quoted === account &&
    from === EvmAsset.domain(paid).verifyingContract &&
    network === arriving.network &&
    asset === arriving.address
