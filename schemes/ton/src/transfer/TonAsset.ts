/**
 * The Jettons that this package knows. A token's contract comes from this table and never from a counterparty: a hostile
 * master could name any contract as the wallet of any account.
 */
import { type Asset, AssetTable, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import type * as Result from "effect/Result"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"

/** A Jetton of the operator's own. `address` is its master contract. */
export type CustomAsset = AssetTable.CustomAsset

/** The keys of the operator's own tokens. */
export const check: OptionCheck.Check<ReadonlyArray<CustomAsset>> = OptionCheck.list(
  OptionCheck.options<CustomAsset>(AssetTable.keys)
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

const family: AssetTable.Family<CustomAsset> = {
  networkOf: TonNetwork.fromText,
  networkFault: "is not a TON network",
  addressOf: TonAddress.fromText,
  fault: ({ address }, network) =>
    network === TonNetwork.mainnet && TonAddress.parse(address)?.testOnly === true
      ? `address "${address}" is marked for test networks`
      : undefined,
  extra: () => ({}),
  known
}

/** Builds the table; fails with the name of an asset whose address, network or decimals are invalid. */
export const table = (custom: ReadonlyArray<CustomAsset>): Result.Result<AssetTable.AssetTable, Misconfigured> =>
  AssetTable.make(family, custom)

/** Whether this package knows the contract of an asset, and with it the need of a transfer. */
export const isKnown = ({ address, network }: Asset): boolean =>
  known.some((one) => one.network === network && one.address === address)

/**
 * A Jetton that is not in the table any more, by its master: enough to follow its transfers. `undefined` for an invalid
 * address.
 */
export const retired = (network: string, address: string): Asset | undefined =>
  AssetTable.retired(family, network, address)
