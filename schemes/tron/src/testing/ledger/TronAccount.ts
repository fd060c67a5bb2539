import type { Permission, Resource } from "../messages/TronContract.ts"
/**
 * An account of the local chain, and what its stake gives it: arithmetic on one account, no chain.
 */
import type { ChainParameters } from "./ChainParameters.ts"
import { sunPerTrx } from "./ChainParameters.ts"

/** How much of a resource was used, as of a time; it recovers evenly within a day. */
export interface Usage {
  readonly used: bigint
  /** Unix milliseconds. */
  readonly at: number
}

/** Stake for one resource, in sun. */
export interface Stake {
  /** Staked, and not delegated. */
  readonly own: bigint
  /** Staked, and delegated to others. */
  readonly delegated: bigint
  /** Delegated by others to this account. */
  readonly acquired: bigint
  readonly usage: Usage
}

/** An account. */
export interface TronAccount {
  readonly address: string
  /** Sun. */
  readonly balance: bigint
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly isContract: boolean
  readonly freeNet: Usage
  readonly stakes: Readonly<Record<Resource, Stake>>
  /** Unstaked, and to be had after a fortnight. */
  readonly unfreezing: ReadonlyArray<{ readonly resource: Resource; readonly amount: bigint; readonly at: number }>
  /** By id: 0 is the owner's. Absent: the account's own key alone, for everything. */
  readonly permissions?: ReadonlyMap<number, Permission>
}

const noUsage: Usage = { used: 0n, at: 0 }
const noStake: Stake = { own: 0n, delegated: 0n, acquired: 0n, usage: noUsage }

/** A new account. */
export const make = (address: string, createdAt: number, isContract: boolean): TronAccount => ({
  address,
  balance: 0n,
  createdAt,
  isContract,
  freeNet: noUsage,
  stakes: { BANDWIDTH: noStake, ENERGY: noStake },
  unfreezing: []
})

const recoveryMillis = 86_400_000

/** What is still used up at a time. */
export const usedAt = ({ at, used }: Usage, now: number): bigint => {
  const left = Math.max(0, Math.min(recoveryMillis, recoveryMillis - (now - at)))
  return (used * BigInt(Math.floor(left))) / BigInt(recoveryMillis)
}

/** A usage with more used. */
export const using = (usage: Usage, amount: bigint, now: number): Usage => ({
  used: usedAt(usage, now) + amount,
  at: now
})

/** What stake gives a day. */
export const limitOf = (account: TronAccount, resource: Resource, parameters: ChainParameters): bigint => {
  const { acquired, own } = account.stakes[resource]
  const [limit, weight] =
    resource === "ENERGY"
      ? [parameters.totalEnergyLimit, parameters.totalEnergyWeight]
      : [parameters.totalNetLimit, parameters.totalNetWeight]
  return ((own + acquired) * limit) / (weight * sunPerTrx)
}

/** What is left of it. */
export const leftOf = (account: TronAccount, resource: Resource, parameters: ChainParameters, now: number): bigint => {
  const left = limitOf(account, resource, parameters) - usedAt(account.stakes[resource].usage, now)
  return left > 0n ? left : 0n
}

/** The account with another stake for one resource. */
export const withStake = (account: TronAccount, resource: Resource, change: Partial<Stake>): TronAccount => ({
  ...account,
  stakes: { ...account.stakes, [resource]: { ...account.stakes[resource], ...change } }
})

/** The account after it used what its stake gives. */
export const spending = (account: TronAccount, resource: Resource, amount: bigint, now: number): TronAccount =>
  amount === 0n ? account : withStake(account, resource, { usage: using(account.stakes[resource].usage, amount, now) })
