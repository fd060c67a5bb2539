/**
 * The default limits of a facilitator's spend on a network in 24 hours, in wei. A network's coin may be worth a thousand dollars
 * or a cent, so each coin has its own limits; they stop an attack, or the spend on a chain that has become dear, and leave room
 * for an ordinary day.
 */

/** The limits of one network. */
interface SpendLimits {
  /** All gas. */
  readonly gas: bigint
  /** The gas of payments that failed. */
  readonly losses: bigint
}

const coins = (gas: bigint): SpendLimits => ({ gas: gas * 10n ** 18n, losses: gas * 10n ** 17n })

/** The limits of a network whose coin is ether or unknown: 1 and 0.1. */
const ether = coins(1n)

const byNetwork: Readonly<Record<string, SpendLimits>> = {
  // POL, BNB, AVAX, xDAI, CELO, S, BERA, MNT, HYPE
  "eip155:137": coins(3_000n),
  "eip155:80002": coins(3_000n),
  "eip155:56": coins(5n),
  "eip155:43114": coins(100n),
  "eip155:43113": coins(100n),
  "eip155:100": coins(3_000n),
  "eip155:42220": coins(5_000n),
  "eip155:146": coins(5_000n),
  "eip155:80094": coins(500n),
  "eip155:5000": coins(3_000n),
  "eip155:999": coins(100n),
  // Local chains: their coin has no value.
  "eip155:31337": coins(1_000n),
  "eip155:1337": coins(1_000n)
}

/** The limit of all settling on a network in 24 hours, in wei. */
export const gasCeiling = (network: string): bigint => (byNetwork[network] ?? ether).gas

/** The limit of failed payments on a network in 24 hours, in wei: a tenth of the gas ceiling. */
export const lossBudget = (network: string): bigint => (byNetwork[network] ?? ether).losses
