/**
 * The network names of x402 version 1, and their CAIP-2 identifiers. The list is closed: version 1 clients refuse an
 * offer with an unknown name. Source: `types/shared/network` of the package `x402` 1.2.
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

/** All names, for messages. */
export const knownNames: ReadonlyArray<string> = /* @__PURE__ */ Object.keys(chainIds)
