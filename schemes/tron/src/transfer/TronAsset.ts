/** The tokens that this package knows. TRON's dollar stablecoin is USDT; the operator names every other token. */
import { type Asset, AssetTable, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import type * as Result from "effect/Result"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"

/**
 * A TRC-20 token of the operator's own. `address` is base58check, or hexadecimal beginning with 41; `decimals` is compared with
 * the chain before the token is used.
 */
export interface CustomAsset extends AssetTable.CustomAsset {
  /** Fee limit that payers are asked to sign, in sun; default 30 TRX. */
  readonly minFeeLimit?: bigint
}

/**
 * Default fee limit that payers are asked to sign, in sun: 30 TRX. A transfer of USDT to a recipient who holds none takes 13 TRX of
 * energy, and the price moves every six hours.
 */
export const defaultFeeLimit = 30_000_000n

/** Check of the operator's own tokens. */
export const check: OptionCheck.Check<ReadonlyArray<CustomAsset>> = OptionCheck.list(
  OptionCheck.options<CustomAsset>({ ...AssetTable.keys, minFeeLimit: OptionCheck.optional(OptionCheck.amount(1n)) })
)

/** The known tokens; the first of a network is its default. */
const known: ReadonlyArray<CustomAsset> = [
  { network: "tron:mainnet", address: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", symbol: "USDT", decimals: 6 },
  { network: "tron:nile", address: "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", symbol: "USDT", decimals: 6 },
  // The local chain's own token, at the same address in every run of `@pontage/tron/testing`: a first try needs no table.
  { network: "tron:local", address: "TTMj1Ld6hEc5bw98ywUzsfhXAhhn4KLQvb", symbol: "TUSD", decimals: 6 }
]

const family: AssetTable.Family<CustomAsset> = {
  networkOf: TronNetwork.fromText,
  networkFault: "is not a TRON network such as tron:mainnet",
  addressOf: (text) => {
    const address = TronAddress.fromText(text)
    return address && TronAddress.toBase58(address)
  },
  fault: ({ minFeeLimit = defaultFeeLimit }) =>
    minFeeLimit <= 0n ? `minFeeLimit ${minFeeLimit} is not a positive number of sun` : undefined,
  extra: ({ minFeeLimit = defaultFeeLimit }) => ({ assetTransferMethod: "transfer", minFeeLimit: `${minFeeLimit}` }),
  known
}

/** Builds the table. An invalid address, network, decimals or fee limit of an operator's asset fails with a message that names it. */
export const table = (custom: ReadonlyArray<CustomAsset>): Result.Result<AssetTable.AssetTable, Misconfigured> =>
  AssetTable.make(family, custom)

/** A token that is no longer in the table, by its contract: enough to find its events. `undefined` if the text is not an address. */
export const retired = (network: string, address: string): Asset | undefined =>
  AssetTable.retired(family, network, address)
