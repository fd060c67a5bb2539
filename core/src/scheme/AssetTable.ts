/**
 * The table of the tokens that one role of a scheme knows: the operator's own and the family's. A family adds the written form of its
 * networks and addresses, and the further terms of a token for its payers.
 */
import * as Result from "effect/Result"

import type { Asset } from "../protocol/Asset.ts"
import type { Network } from "../protocol/Network.ts"
import * as OptionCheck from "../protocol/OptionCheck.ts"
import { Misconfigured } from "../protocol/ProtocolError.ts"

/** A token of the operator's own. */
export interface CustomAsset {
  readonly network: string
  /** The token's contract; on TON its master. */
  readonly address: string
  readonly symbol: string
  /** Digits after the point, 0 to 36. */
  readonly decimals: number
  /** Whether one whole token is one dollar; default `true`. */
  readonly dollar?: boolean
}

/** The keys of the operator's own tokens, for families that add their own. */
export const keys: OptionCheck.Table<CustomAsset> = {
  network: OptionCheck.text,
  address: OptionCheck.text,
  symbol: OptionCheck.text,
  decimals: OptionCheck.whole(0, 36),
  dollar: OptionCheck.optional(OptionCheck.flag)
}

/** A family's own part of a table. */
export interface Family<A extends CustomAsset> {
  readonly networkOf: (text: string) => Network | undefined
  /** The message about a text that is not a network of the family: the end of a sentence whose subject is the network. */
  readonly networkFault: string
  /** An address in its wire form; `undefined` for any other text. */
  readonly addressOf: (text: string) => string | undefined
  /** The message about another fault of an asset; `undefined` without a fault. */
  readonly fault?: (asset: A, network: Network) => string | undefined
  /** `Asset.extra`. */
  readonly extra: (asset: A) => Readonly<Record<string, string>>
  /** The tokens that the family's package knows. */
  readonly known: ReadonlyArray<A>
  /**
   * Whether a known token may be its network's default; without it all may. The default of a network is the first token that
   * may, of the operator's own and then of the known ones.
   */
  readonly isDefault?: (asset: A) => boolean
}

/** The assets of one role: the operator's own, and behind them the known ones. */
export interface AssetTable {
  /** By address, by symbol, or the network's default without a text. */
  readonly find: (network: string, text: string | undefined) => Asset | undefined
  /** For messages: symbols with their addresses. */
  readonly names: (network: string) => ReadonlyArray<string>
  readonly of: (network: string) => ReadonlyArray<Asset>
}

/**
 * Builds the table. An operator's asset with a bad network, address, decimals or else is a mistake that names it.
 */
export const make = <A extends CustomAsset>(
  family: Family<A>,
  custom: ReadonlyArray<A>
): Result.Result<AssetTable, Misconfigured> => {
  const { isDefault = () => true, known } = family
  const entries = [
    ...custom.map((asset) => ({ asset, mayBeDefault: true })),
    ...known.map((asset) => ({ asset, mayBeDefault: isDefault(asset) }))
  ]
  const all = entries.map(({ asset, mayBeDefault }) =>
    Result.map(read(family, asset), (made) => ({ asset: made, mayBeDefault }))
  )
  return Result.map(Result.all(all), (rows) => {
    const networks = new Map<string, Array<Asset>>()
    for (const { asset } of rows) networks.set(asset.network, [...(networks.get(asset.network) ?? []), asset])
    const of = (network: string): ReadonlyArray<Asset> => networks.get(network) ?? []
    return {
      of,
      find: (network, text) =>
        text === undefined
          ? rows.find(({ asset, mayBeDefault }) => mayBeDefault && asset.network === network)?.asset
          : lookUp(family, of(network), text),
      names: (network) => of(network).map(({ address, symbol }) => `${symbol} (${address})`)
    }
  })
}

const lookUp = <A extends CustomAsset>(
  { addressOf }: Family<A>,
  assets: ReadonlyArray<Asset>,
  text: string
): Asset | undefined => {
  // Most payments name the address as it is on the wire.
  const named = assets.find((asset) => asset.address === text)
  if (named !== undefined) return named
  const address = addressOf(text)
  return assets.find((asset) => asset.symbol === text || (address !== undefined && asset.address === address))
}

const read = <A extends CustomAsset>(
  { addressOf, extra, fault, networkFault, networkOf }: Family<A>,
  asset: A
): Result.Result<Asset, Misconfigured> => {
  const { decimals, dollar = true, symbol } = asset
  const network = networkOf(asset.network)
  if (network === undefined) return wrong(symbol, `network "${asset.network}" ${networkFault}`)
  const address = addressOf(asset.address)
  if (address === undefined) return wrong(symbol, `address "${asset.address}" is no address, or its checksum is wrong`)
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 36) {
    return wrong(symbol, `decimals ${decimals} is not an integer between 0 and 36`)
  }
  const other = fault?.(asset, network)
  if (other !== undefined) return wrong(symbol, other)
  return Result.succeed({ network, address, symbol, decimals, dollar, extra: extra(asset) })
}

const wrong = (symbol: string, what: string) =>
  Result.fail(new Misconfigured({ message: `assets: ${symbol}: ${what}` }))

/**
 * A token that is not in the table any more, by its address: enough to find its transfers. `undefined` if the texts are not a network
 * and an address of the family.
 */
export const retired = <A extends CustomAsset>(
  { addressOf, networkOf }: Pick<Family<A>, "addressOf" | "networkOf">,
  networkText: string,
  addressText: string
): Asset | undefined => {
  const address = addressOf(addressText)
  const network = networkOf(networkText)
  if (address === undefined || network === undefined) return undefined
  return { network, address, symbol: address, decimals: 0, dollar: false, extra: { retired: "true" } }
}

/** Whether the token is not in the table any more. */
export const isRetired = ({ extra }: Asset): boolean => extra["retired"] === "true"
