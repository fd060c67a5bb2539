/**
 * The names that x402 version 1 has for networks, and their CAIP-2 identifiers. The list is closed: version 1 clients
 * refuse an offer with a name they do not know. Source: `types/shared/network` of the package `x402` 1.2.
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

/** The network of a name; `undefined` when it is none of the list. */
export const fromName = (name: string): Network.Network | undefined =>
  Object.hasOwn(chainIds, name) ? Network.make(`eip155:${chainIds[name]}`) : undefined

/** The name of a network; `undefined` when version 1 has none for it. */
export const nameOf = (network: string): string | undefined => names.get(network)

/** All names, for messages. */
export const knownNames: ReadonlyArray<string> = /* @__PURE__ */ Object.keys(chainIds)
