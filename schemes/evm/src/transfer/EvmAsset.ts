/**
 * The known tokens, each with its EIP-712 domain. A domain comes from this table and never from a counterparty: a payment
 * signed under a wrong name has another payer.
 */
import { type Asset, AssetTable, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import type * as Result from "effect/Result"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as UsdcDeployments from "../primitives/UsdcDeployments.ts"
import type * as Eip3009 from "./Eip3009.ts"

/**
 * A token that the operator adds. `name` and `version` are those of the EIP-712 domain of its EIP-3009 authorizations; servers and
 * facilitators compare them with the chain before they use it. A token without such authorizations is paid in by Permit2 and by
 * user operations, as far as the facilitator settles these: it has neither, or, where it has approvals by signature (EIP-2612),
 * the domain of those and the method `permit2`.
 */
export interface CustomAsset extends AssetTable.CustomAsset {
  readonly name?: string
  readonly version?: string
  /**
   * `permit2` for a token that is paid in without transfer authorizations, also through a facilitator that does not name its
   * methods, such as one of x402.
   */
  readonly assetTransferMethod?: "permit2"
}

/** The keys of a token that the operator adds. */
export const check: OptionCheck.Check<ReadonlyArray<CustomAsset>> = OptionCheck.list(
  OptionCheck.options<CustomAsset>({
    ...AssetTable.keys,
    name: OptionCheck.optional(OptionCheck.text),
    version: OptionCheck.optional(OptionCheck.text),
    assetTransferMethod: OptionCheck.optional(OptionCheck.oneOf("permit2"))
  })
)

const usdc = ([chainId, address, name]: UsdcDeployments.UsdcDeployment): CustomAsset => ({
  network: `eip155:${chainId}`,
  address,
  symbol: "USDC",
  decimals: UsdcDeployments.decimals,
  name,
  version: UsdcDeployments.version
})

const usdt0 = (chainId: number, address: string): CustomAsset => ({
  network: `eip155:${chainId}`,
  address,
  symbol: "USDT0",
  decimals: 6,
  name: "USD₮0",
  version: "1"
})

const local = "eip155:31337"

const known: ReadonlyArray<CustomAsset> = [
  ...UsdcDeployments.deployments.map(usdc),
  usdt0(10, "0x01bFF41798a0BcF287b996046Ca68b395DbC1071"),
  usdt0(130, "0x9151434b16b9763660705744891fA906F660EcC5"),
  usdt0(137, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
  usdt0(42161, "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
  usdt0(57073, "0x0200C29006150606B650577BBE7B6248F58470c1"),
  usdt0(80094, "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
  // The local chain's token: `@pontage/evm/testing` deploys it at this address in every run, so that a first try needs no table.
  {
    network: local,
    address: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    symbol: "TUSD",
    decimals: 6,
    name: "Test Dollar",
    version: "1"
  }
]

const family: AssetTable.Family<CustomAsset> = {
  networkOf: EvmNetwork.fromText,
  networkFault: EvmNetwork.fault,
  addressOf: (text) => {
    const address = EvmAddress.fromText(text)
    return address && EvmAddress.checksum(address)
  },
  fault: ({ name, version }) =>
    (name === undefined) === (version === undefined)
      ? undefined
      : "name and version are of one EIP-712 domain: give both, or none for a token without transfer authorizations",
  extra: ({ assetTransferMethod, name, version }): Readonly<Record<string, string>> => ({
    ...(name !== undefined && version !== undefined && { name, version }),
    ...(assetTransferMethod !== undefined && { assetTransferMethod })
  }),
  known,
  isDefault: ({ network, symbol }) => symbol === "USDC" || network === local
}

/** Builds the table. An operator's asset with a bad address, network or decimals is `Misconfigured`, which names it. */
export const table = (custom: ReadonlyArray<CustomAsset>): Result.Result<AssetTable.AssetTable, Misconfigured> =>
  AssetTable.make(family, custom)

/**
 * A token that is no longer in the table, by its address: enough to find its events. Its EIP-712 domain is unknown, so
 * nothing new can be signed for it. `undefined` where the text is not an address.
 */
export const retired = (network: string, address: string): Asset | undefined =>
  AssetTable.retired(family, network, address)

/** Whether payments in the asset may be EIP-3009 authorizations. A token that is no longer in the table may have had them. */
export const hasAuthorizations = (asset: Asset): boolean =>
  (hasDomain(asset) && asset.extra["assetTransferMethod"] === undefined) || AssetTable.isRetired(asset)

/** Whether the EIP-712 domain of the token's authorizations, or of its approvals by signature, is known. */
export const hasDomain = (asset: Asset): boolean => asset.extra["name"] !== undefined

/** A way to pay, by its name in offers. */
export type Method = "eip3009" | "userOperation" | "permit2"

/** The ways to pay in an asset through a facilitator that requires these further terms of offers. */
export const methodsOf = (asset: Asset, offered: Readonly<Record<string, unknown>>): ReadonlyArray<Method> => [
  ...(hasAuthorizations(asset) ? (["eip3009"] as const) : []),
  ...(offered["userOperations"] === undefined ? [] : (["userOperation"] as const)),
  ...(offered["permit2"] === undefined && asset.extra["assetTransferMethod"] !== "permit2"
    ? []
    : (["permit2"] as const))
]

const domains = new WeakMap<Asset, Eip3009.Domain>()

/** The EIP-712 domain of authorizations in this asset. */
export const domain = (asset: Asset): Eip3009.Domain => {
  const known = domains.get(asset)
  if (known !== undefined) return known
  const made: Eip3009.Domain = {
    name: asset.extra["name"] ?? "",
    version: asset.extra["version"] ?? "",
    chainId: EvmNetwork.chainId(asset.network),
    verifyingContract: EvmAddress.fromText(asset.address) ?? EvmAddress.zero
  }
  domains.set(asset, made)
  return made
}
