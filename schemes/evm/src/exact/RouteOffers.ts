/**
 * The offers of a shop whose money goes on to another network: by the facilitator's quotes, over bridges that the shop itself knows.
 */
import type { OnwardOffer, OnwardOffers, OnwardOption, OnwardQuote } from "@pontage/core"
import * as Amount from "@pontage/core/Amount"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as RouteTerms from "../payment/RouteTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import type { EvmBridge, EvmBridges } from "../route/EvmBridges.ts"
import * as IssuerFee from "../route/IssuerFee.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"

/** A facilitator's quote of one crossing, as it travels. */
const Quote = Schema.Struct({
  kind: Schema.Literals(["oft", "cctp"]),
  from: EvmAddress.FromText,
  network: Schema.String,
  asset: EvmAddress.FromText,
  bridge: EvmAddress.FromText,
  destination: BridgeRoute.EndpointId,
  fee: Amount.FromText,
  feeTo: EvmAddress.FromText,
  options: BridgeRoute.Options,
  /** CCTP: the issuer's part of the amount, in thousandths of a basis point. */
  issuerRate: Schema.optionalKey(
    Amount.FromText.check(
      Schema.makeFilter((rate: bigint) => rate <= IssuerFee.highestRate, { expected: "at most a tenth of the amount" })
    )
  ),
  minimumAmount: Amount.FromText,
  quotedUntil: Schema.Int
})

const decode = Schema.decodeUnknownOption(Quote)

/** Quotes are read at every request, and are the same ones for minutes. */
const seen = new WeakMap<OnwardQuote, typeof Quote.Type | undefined>()

/** Reads a quote; `undefined` for one that is not of this kind. */
export const read = (json: OnwardQuote): typeof Quote.Type | undefined => {
  if (!seen.has(json)) seen.set(json, Option.getOrUndefined(decode(json)))
  return seen.get(json)
}

/** Checks an option, and makes its offers. */
export const make = (bridges: EvmBridges, option: OnwardOption): Result.Result<OnwardOffers, string> =>
  Result.gen(function* () {
    const { asset, payTo: text } = option
    if (!EvmAsset.hasAuthorizations(asset)) {
      yield* Result.fail(`${asset.symbol} has no transfer authorizations (EIP-3009), by which routes are paid`)
    }
    const near = bridges.of(asset.network, EvmAsset.domain(asset).verifyingContract)
    if (near === undefined) {
      return yield* Result.fail(
        `no known bridge carries ${asset.symbol} (${asset.address}) from ${asset.network}; name another asset, or give the bridge to exactEvm.server as one of bridges`
      )
    }
    const far = yield* arriving(bridges, near, option)
    const payTo = EvmAddress.fromText(text)
    if (payTo === undefined || payTo === far.token) return yield* Result.fail(`payTo "${text}" cannot be paid there`)
    const offer = (price: bigint, terms: QuotedTerms): OnwardOffer => ({
      payTo: EvmAddress.checksum(RouteRouters.routers[near.kind].address),
      amount: IssuerFee.sentFor(price, terms.issuerRate ?? 0n) + terms.fee,
      extra: {
        assetTransferMethod: RouteTerms.method,
        route: {
          kind: near.kind,
          network: far.network,
          asset: EvmAddress.checksum(far.token),
          payTo: EvmAddress.checksum(payTo),
          bridge: EvmAddress.checksum(near.bridge),
          destination: far.endpointId,
          amount: `${IssuerFee.sentFor(price, terms.issuerRate ?? 0n)}`,
          minimum: `${price}`,
          fee: `${terms.fee}`,
          feeTo: EvmAddress.checksum(terms.feeTo),
          options: terms.options,
          quotedUntil: terms.quotedUntil
        }
      }
    })
    return {
      network: far.network,
      onRecord: (price) => offer(price, withoutFee),
      quoted: (price, quotes) => {
        const quote = quotes.map(read).find((one) => one !== undefined && isOver(near, far, one))
        return (
          quote && {
            offer: price < quote.minimumAmount ? undefined : offer(price, quote),
            quotedUntil: quote.quotedUntil
          }
        )
      }
    }
  })

type QuotedTerms = Pick<typeof Quote.Type, "fee" | "feeTo" | "issuerRate" | "options" | "quotedUntil">

/** The terms of a payment on record, which was quoted earlier. */
const withoutFee: QuotedTerms = { fee: 0n, feeTo: EvmAddress.zero, options: "0x", quotedUntil: 0 }

/** The bridge's end on the other network. */
const arriving = (
  bridges: EvmBridges,
  { kind }: EvmBridge,
  { arriving: asset, asset: { network: from }, network: text }: OnwardOption
): Result.Result<EvmBridge, string> => {
  const network = EvmNetwork.fromText(text)
  if (network === undefined) return Result.fail(`network "${text}" ${EvmNetwork.fault}`)
  if (network === from) return Result.fail(`the money is paid on ${network} already; remove onward`)
  const token = asset === undefined ? undefined : EvmAddress.fromText(asset)
  if (asset !== undefined && token === undefined) return Result.fail(`asset "${asset}" is not an address`)
  const ends = bridges.on(network).filter((end) => end.kind === kind && (token === undefined || end.token === token))
  const [end, other] = ends
  if (end === undefined) return Result.fail(`no known bridge leads to ${asset ?? "a token"} on ${network}`)
  return other === undefined
    ? Result.succeed(end)
    : Result.fail(
        `several tokens arrive on ${network}; name one as asset: ${ends.map((one) => EvmAddress.checksum(one.token)).join(", ")}`
      )
}

const isOver = (near: EvmBridge, far: EvmBridge, quote: typeof Quote.Type): boolean =>
  quote.kind === near.kind &&
  near.kind === far.kind &&
  quote.from === near.token &&
  quote.bridge === near.bridge &&
  quote.network === far.network &&
  quote.asset === far.token &&
  quote.destination === far.endpointId
