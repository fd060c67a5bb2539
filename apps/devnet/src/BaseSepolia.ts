/**
 * The network and the goods' price in everybody's words. The older protocol version knows networks from a closed list of
 * names, and every package has a table of tokens: so the local chain pretends to be the one test network that all of them
 * know, with a token at the address where all of them look for it.
 */

/** CAIP-2. */
export const network = "eip155:84532"

/** The network's name in x402 version 1. */
export const legacyNetwork = "base-sepolia"

/** Address of the network's dollar token in every package's table. */
export const token = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

/** EIP-712 domain of the token. */
export const tokenDomain = { name: "USDC", symbol: "USDC", version: "2" } as const

/** Price of each resource. */
export const price = "$0.01"

/** The same in the token's smallest units. */
export const amount = 10_000n
