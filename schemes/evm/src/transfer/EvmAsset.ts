/**
 * The known tokens, each with its EIP-712 domain. A domain comes from this table and never from a counterparty: a payment
 * signed under a wrong name has another payer.
 */
import { type Asset, AssetTable, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import type * as Result from "effect/Result"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import type * as Eip3009 from "./Eip3009.ts"

/**
 * A token that the operator adds: it must accept EIP-3009 authorizations. `name` and `version` are those of its EIP-712
 * domain; servers and facilitators compare them with the chain before they use it.
 */
export interface CustomAsset extends AssetTable.CustomAsset {
  readonly name: string
  readonly version: string
}

/** The keys of a token that the operator adds. */
export const check: OptionCheck.Check<ReadonlyArray<CustomAsset>> = OptionCheck.list(
  OptionCheck.options<CustomAsset>({ ...AssetTable.keys, name: OptionCheck.text, version: OptionCheck.text })
)

const usdc = (chainId: number, address: string, name: string): CustomAsset => ({
  network: `eip155:${chainId}`,
  address,
  symbol: "USDC",
  decimals: 6,
  name,
  version: "2"
})

const usdt0 = (chainId: number, address: string): CustomAsset => ({
  network: `eip155:${chainId}`,
  address,
  symbol: "USDT0",
  decimals: 6,
  name: "USD₮0",
  version: "1"
})

/** The first of a network is its default. */
const known: ReadonlyArray<CustomAsset> = [
  usdc(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin"),
  usdc(137, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin"),
  usdc(8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"),
  usdc(42161, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USD Coin"),
  usdc(84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"),
  usdc(11155111, "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "USDC"),
  usdt0(10, "0x01bFF41798a0BcF287b996046Ca68b395DbC1071"),
  usdt0(130, "0x9151434b16b9763660705744891fA906F660EcC5"),
  usdt0(137, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
  usdt0(42161, "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
  usdt0(57073, "0x0200C29006150606B650577BBE7B6248F58470c1"),
  usdt0(80094, "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
  // The local chain's token: `@pontage/evm/testing` deploys it at this address in every run, so that a first try needs no table.
  {
    network: "eip155:31337",
    address: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    symbol: "TUSD",
    decimals: 6,
    name: "Test Dollar",
    version: "1"
  }
]

const family: AssetTable.Family<CustomAsset> = {
  networkOf: EvmNetwork.fromText,
  networkFault: "is not of the form eip155:<chain id>",
  addressOf: (text) => {
    const address = EvmAddress.fromText(text)
    return address && EvmAddress.checksum(address)
  },
  extra: ({ name, version }) => ({ name, version }),
  known
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
