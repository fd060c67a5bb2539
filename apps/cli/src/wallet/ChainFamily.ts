/** The chain families that a wallet may belong to: the namespaces of their networks (CAIP-2). */

/** All of them, the usual one first. */
export const families = ["evm", "ton", "tron"] as const

/** One of these. */
export type ChainFamily = (typeof families)[number]

const byNamespace: Readonly<Record<string, ChainFamily>> = { eip155: "evm", ton: "ton", tron: "tron" }

/** The family of a network; `undefined` for one that this program cannot pay on. */
export const ofNetwork = (network: string): ChainFamily | undefined =>
  byNamespace[network.slice(0, network.indexOf(":"))]

/** The family of a word that a person wrote. */
export const fromText = (text: string): ChainFamily | undefined => families.find((family) => family === text)
