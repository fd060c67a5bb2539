/**
 * The tokens this package knows. TRON's dollar stablecoin is USDT; every other token is named by the operator.
 */
import { type Asset, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Result from "effect/Result"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"

/**
 * A TRC-20 token of the operator's own. Its decimals are compared with the chain before it is used.
 *
 * @category models
 */
export interface CustomAsset {
  readonly network: string
  /** Base58check, or hexadecimal beginning with 41. */
  readonly address: string
  readonly symbol: string
  readonly decimals: number
  /** Whether one whole token is one dollar; default `true`. */
  readonly dollar?: boolean
  /** The fee limit that payers are asked to sign for, in sun; default 30 TRX. */
  readonly minFeeLimit?: bigint
}

/**
 * The fee limit that payers are asked for where nothing else is said, in sun: 30 TRX. A transfer of USDT to somebody who
 * holds none takes 13 TRX of energy, and the price moves every six hours.
 *
 * @category constants
 */
export const defaultFeeLimit = 30_000_000n

/**
 * The keys of the operator's own tokens.
 *
 * @category constants
 */
export const check: OptionCheck.Check<ReadonlyArray<CustomAsset>> = OptionCheck.list(
  OptionCheck.options<CustomAsset>({
    network: OptionCheck.text,
    address: OptionCheck.text,
    symbol: OptionCheck.text,
    decimals: OptionCheck.whole(0, 36),
    dollar: OptionCheck.optional(OptionCheck.flag),
    minFeeLimit: OptionCheck.optional(OptionCheck.amount(1n))
  })
)

/** The first of a network is its default. */
const known: ReadonlyArray<CustomAsset> = [
  { network: "tron:mainnet", address: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", symbol: "USDT", decimals: 6 },
  { network: "tron:nile", address: "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", symbol: "USDT", decimals: 6 },
  // The local chain's own token (`@pontage/tron/testing` has it here in every run), so that a first try needs no table.
  { network: "tron:local", address: "TTMj1Ld6hEc5bw98ywUzsfhXAhhn4KLQvb", symbol: "TUSD", decimals: 6 }
]

/**
 * The assets of one role: the known ones, and before them the operator's own.
 *
 * @category models
 */
export interface TronAssets {
  /** By address, by symbol, or the network's default without a text. */
  readonly find: (network: string, text: string | undefined) => Asset | undefined
  readonly names: (network: string) => ReadonlyArray<string>
}

/**
 * Builds the table. An operator's asset with a bad address, network, decimals or fee limit is a mistake that names it.
 *
 * @category constructors
 */
export const table = (custom: ReadonlyArray<CustomAsset>): Result.Result<TronAssets, Misconfigured> =>
  Result.map(Result.all([...custom, ...known].map(toAsset)), (assets) => {
    const of = (network: string) => assets.filter((asset) => asset.network === network)
    return {
      find: (network, text) => (text === undefined ? of(network)[0] : lookUp(of(network), text)),
      names: (network) => of(network).map(({ address, symbol }) => `${symbol} (${address})`)
    }
  })

/**
 * A token that is not in the table any more, by its contract: enough to find its events. `undefined` where the text is no address.
 *
 * @category constructors
 */
export const retired = (network: string, text: string): Asset | undefined => {
  const address = TronAddress.fromText(text)
  const canonical = TronNetwork.fromText(network)
  if (address === undefined || canonical === undefined) return undefined
  const name = TronAddress.toBase58(address)
  return { network: canonical, address: name, symbol: name, decimals: 0, dollar: false, extra: {} }
}

const lookUp = (assets: ReadonlyArray<Asset>, text: string): Asset | undefined =>
  assets.find(({ address, symbol }) => symbol === text || TronAddress.equals(address, text))

const toAsset = (custom: CustomAsset): Result.Result<Asset, Misconfigured> => {
  const network = TronNetwork.fromText(custom.network)
  if (network === undefined) return wrong(custom, `network "${custom.network}" is no TRON network such as tron:mainnet`)
  const address = TronAddress.fromText(custom.address)
  if (address === undefined) return wrong(custom, `address "${custom.address}" is no address, or its checksum is wrong`)
  if (!Number.isInteger(custom.decimals) || custom.decimals < 0 || custom.decimals > 36) {
    return wrong(custom, `decimals ${custom.decimals} is not an integer between 0 and 36`)
  }
  const { minFeeLimit = defaultFeeLimit } = custom
  if (minFeeLimit <= 0n) return wrong(custom, `minFeeLimit ${minFeeLimit} is not a positive number of sun`)
  return Result.succeed({
    network,
    address: TronAddress.toBase58(address),
    symbol: custom.symbol,
    decimals: custom.decimals,
    dollar: custom.dollar ?? true,
    extra: { assetTransferMethod: "transfer", minFeeLimit: `${minFeeLimit}` }
  })
}

const wrong = (custom: CustomAsset, what: string) =>
  Result.fail(new Misconfigured({ message: `assets: ${custom.symbol}: ${what}` }))
