/**
 * The chains between which Circle's CCTP (version 2) carries its dollars. A line names a chain, its USDC, and the chain's domain; the
 * messenger has one address on all of them.
 *
 * Addresses: https://developers.circle.com/cctp/evm-smart-contracts. Every facilitator compares the whole line with both chains before it
 * quotes a route (`CctpEnds`), so that a wrong line stops a start and never costs a payment.
 */

/** Circle's `TokenMessengerV2`, with checksum. */
export const messenger = "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"

/** One deployment: the chain id (EIP-155), the token with checksum, and the domain. */
export type CctpDeployment = readonly [chainId: number, token: string, domain: number]

/** The deployments. */
export const deployments: ReadonlyArray<CctpDeployment> = [
  [1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 0],
  [10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 2],
  [137, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 7],
  [8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6],
  [42161, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", 3],
  [43114, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", 1]
]
