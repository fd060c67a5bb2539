/**
 * The network names of x402, and ours. Version 1 has a closed list: its clients refuse an offer with an unknown name
 * (source: `types/shared/network` of the package `x402` 1.2). Version 2 names networks by CAIP-2, in which TON's
 * namespace is `tvm` and a network its global id (x402 specification, `scheme_exact_ton`).
 */
import * as Network from "../../protocol/Network.ts"

const chainIds: Readonly<Record<string, number>> = {
  abstract: 2741,
  "abstract-testnet": 11124,
  avalanche: 43114,
  "avalanche-fuji": 43113,
  base: 8453,
  "base-sepolia": 84532,
  educhain: 41923,
  iotex: 4689,
  peaq: 3338,
  polygon: 137,
  "polygon-amoy": 80002,
  sei: 1329,
  "sei-testnet": 1328,
  "skale-base-sepolia": 324705682,
  story: 1514
}

const names = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(chainIds).map(([name, chainId]) => [`eip155:${chainId}`, name])
)

/** The network of a name; `undefined` if the list lacks it. */
export const fromName = (name: string): Network.Network | undefined =>
  Object.hasOwn(chainIds, name) ? Network.make(`eip155:${chainIds[name]}`) : undefined

/** The name of a network; `undefined` if version 1 has none. */
export const nameOf = (network: string): string | undefined => names.get(network)

const renamed = [
  ["ton:mainnet", "tvm:-239"],
  ["ton:testnet", "tvm:-3"],
  ["ton:local", "tvm:-217"]
] as const

const namesV2 = /* @__PURE__ */ new Map<string, Network.Network>(
  /* @__PURE__ */ renamed.map(([network, name]) => [network, Network.make(name)])
)

const networksV2 = /* @__PURE__ */ new Map<string, Network.Network>(
  /* @__PURE__ */ renamed.map(([network, name]) => [name, Network.make(network)])
)

/** The name of a network in version 2; our own where x402 has no other. */
export const toV2 = <Text extends string>(network: Text): Text | Network.Network => namesV2.get(network) ?? network

/** The network of a name in version 2; any other text as it is. */
export const fromV2 = <Text extends string>(name: Text): Text | Network.Network => networksV2.get(name) ?? name

/** All names of version 1, for messages. */
export const knownNames: ReadonlyArray<string> = /* @__PURE__ */ Object.keys(chainIds)
