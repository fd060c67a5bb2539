/**
 * The Jettons this package knows. Which contract is a token is looked up here and never believed from a counterparty: a
 * hostile master could name any contract as anybody's wallet.
 */
import { type Asset, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Result from "effect/Result"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"

/**
 * A Jetton of the operator's own. `address` is its master contract.
 *
 * @category models
 */
export interface CustomAsset {
  readonly network: string
  readonly address: string
  readonly symbol: string
  readonly decimals: number
  /** Whether one whole token is one dollar; default `true`. */
  readonly dollar?: boolean
}

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
    dollar: OptionCheck.optional(OptionCheck.flag)
  })
)

/** The first of a network is its default. */
const known: ReadonlyArray<CustomAsset> = [
  {
    network: TonNetwork.mainnet,
    address: "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe",
    symbol: "USDT",
    decimals: 6
  },
  // The local chain's own Jetton (`@pontage/ton/testing` has it here in every run), so that a first try needs no table.
  {
    network: TonNetwork.local,
    address: "0:d0c2dbd8d1c8b0a91cb84b30bfd376b02f3ecf9333f82b833dc9b1ffbcf7ab31",
    symbol: "TUSD",
    decimals: 6
  }
]

/**
 * The assets of one role: the operator's own, and behind them the known ones.
 *
 * @category models
 */
export interface TonAssets {
  /** By address, by symbol, or the network's default without a text. */
  readonly find: (network: string, text: string | undefined) => Asset | undefined
  readonly names: (network: string) => ReadonlyArray<string>
  readonly of: (network: string) => ReadonlyArray<Asset>
}

/**
 * Builds the table. An operator's asset with a bad address, network or decimals is a mistake that names it.
 *
 * @category constructors
 */
export const table = (custom: ReadonlyArray<CustomAsset>): Result.Result<TonAssets, Misconfigured> =>
  Result.map(Result.all([...custom, ...known].map(toAsset)), (assets) => {
    const of = (network: string) => assets.filter((asset) => asset.network === network)
    return {
      of,
      find: (network, text) => (text === undefined ? of(network)[0] : lookUp(of(network), text)),
      names: (network) => of(network).map(({ address, symbol }) => `${symbol} (${address})`)
    }
  })

/**
 * Whether the contract of an asset is one that this package knows, and with it what a transfer needs.
 *
 * @category predicates
 */
export const isKnown = ({ address, network }: Asset): boolean =>
  known.some((one) => one.network === network && one.address === address)

/**
 * A Jetton that is not in the table any more, by its master: enough to follow its transfers. `undefined` where the text is no
 * address.
 *
 * @category constructors
 */
export const retired = (network: Asset["network"], text: string): Asset | undefined => {
  const address = TonAddress.fromText(text)
  return address && { network, address, symbol: address, decimals: 0, dollar: false, extra: { retired: "true" } }
}

/**
 * Whether the Jetton is not in the table any more.
 *
 * @category predicates
 */
export const isRetired = ({ extra }: Asset): boolean => extra["retired"] !== undefined

const lookUp = (assets: ReadonlyArray<Asset>, text: string): Asset | undefined =>
  assets.find(({ address, symbol }) => symbol === text || TonAddress.equals(address, text))

const toAsset = (custom: CustomAsset): Result.Result<Asset, Misconfigured> => {
  const network = TonNetwork.fromText(custom.network)
  if (network === undefined) return wrong(custom, `network "${custom.network}" is none of TON's`)
  const parsed = TonAddress.parse(custom.address)
  if (parsed === undefined) return wrong(custom, `address "${custom.address}" is no address, or its checksum is wrong`)
  if (parsed.testOnly && network === TonNetwork.mainnet)
    return wrong(custom, `address "${custom.address}" is marked for test networks`)
  if (!Number.isInteger(custom.decimals) || custom.decimals < 0 || custom.decimals > 36) {
    return wrong(custom, `decimals ${custom.decimals} is not an integer between 0 and 36`)
  }
  return Result.succeed({
    network,
    address: parsed.address,
    symbol: custom.symbol,
    decimals: custom.decimals,
    dollar: custom.dollar ?? true,
    extra: {}
  })
}

const wrong = (custom: CustomAsset, what: string) =>
  Result.fail(new Misconfigured({ message: `assets: ${custom.symbol}: ${what}` }))
