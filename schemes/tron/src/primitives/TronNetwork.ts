/**
 * TRON networks: `tron:mainnet`, `tron:nile`, `tron:shasta`, and `tron:local` for a private chain. Only this module accepts other
 * names for them: the chain id in decimal, hexadecimal or base58 after `tron:`, and the short names that wallets use. A bare `mainnet` is
 * not a TRON network, because other families have one too.
 */
import * as Network from "@pontage/core/Network"

/** Chain ids: the last four bytes of the genesis block's id, by which a node's network is recognised. */
const chainIds: Readonly<Record<string, number>> = {
  mainnet: 728_126_428,
  nile: 3_448_148_188,
  shasta: 2_494_104_990
}

/** The chain ids in base58: the identifiers of x402's draft `scheme_exact_tron`. */
const draftIds: Readonly<Record<string, string>> = { mainnet: "27Lqcw", nile: "6FhfKq", shasta: "4oPwXB" }

const names = ["mainnet", "nile", "shasta", "local"]

const aliases: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ...names.map((name) => [`tron:${name}`, name] as const),
  ...Object.entries(chainIds).flatMap(([name, chainId]) => [
    [`tron:${chainId}`, name] as const,
    [`tron:0x${chainId.toString(16)}`, name] as const
  ]),
  ...Object.entries(draftIds).map(([name, id]) => [`tron:${id}`, name] as const),
  ["tron", "mainnet"],
  ["tron-mainnet", "mainnet"],
  ["nile", "nile"],
  ["tron-nile", "nile"],
  ["shasta", "shasta"],
  ["tron-shasta", "shasta"]
])

/** The network of a text, aliases included, in its canonical form; `undefined` if it is not a TRON network. */
export const fromText = (text: string): Network.Network | undefined => {
  const name = aliases.get(text)
  return name === undefined ? undefined : Network.make(`tron:${name}`)
}

/** The default network. */
export const mainnet: Network.Network = /* @__PURE__ */ Network.make("tron:mainnet")

/** The network of a genesis block's id; `tron:local` if the id is not of a known network. */
export const fromGenesis = (blockId: string): Network.Network => {
  const found = Object.entries(chainIds).find(([, chainId]) => blockId.endsWith(chainId.toString(16).padStart(8, "0")))
  return Network.make(`tron:${found?.[0] ?? "local"}`)
}
