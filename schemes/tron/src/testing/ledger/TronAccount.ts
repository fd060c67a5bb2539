/** An account of the local chain and the resources of its stake: arithmetic on one account, without the chain. */
import type { Permission, Resource } from "../messages/TronContract.ts"
import type { ChainParameters } from "./ChainParameters.ts"
import { sunPerTrx } from "./ChainParameters.ts"

/** The used amount of a resource at one time; it recovers evenly within a day. */
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
  /** Unstaked TRX, available after 14 days. */
  readonly unfreezing: ReadonlyArray<{ readonly resource: Resource; readonly amount: bigint; readonly at: number }>
  /** Permissions by id, 0 for the owner's; absent if the account's own key alone has all of them. */
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

/** The usage that has not recovered at a time. */
export const usedAt = ({ at, used }: Usage, now: number): bigint => {
  const left = Math.max(0, Math.min(recoveryMillis, recoveryMillis - (now - at)))
  return (used * BigInt(Math.floor(left))) / BigInt(recoveryMillis)
}

/** A usage with an amount added. */
export const using = (usage: Usage, amount: bigint, now: number): Usage => ({
  used: usedAt(usage, now) + amount,
  at: now
})

/** The amount of a resource that stake gives a day. */
export const limitOf = (account: TronAccount, resource: Resource, parameters: ChainParameters): bigint => {
  const { acquired, own } = account.stakes[resource]
  const [limit, weight] =
    resource === "ENERGY"
      ? [parameters.totalEnergyLimit, parameters.totalEnergyWeight]
      : [parameters.totalNetLimit, parameters.totalNetWeight]
  return ((own + acquired) * limit) / (weight * sunPerTrx)
}

/** The amount of a resource that is left. */
export const leftOf = (account: TronAccount, resource: Resource, parameters: ChainParameters, now: number): bigint => {
  const left = limitOf(account, resource, parameters) - usedAt(account.stakes[resource].usage, now)
  return left > 0n ? left : 0n
}

/** The account with another stake for one resource. */
export const withStake = (account: TronAccount, resource: Resource, change: Partial<Stake>): TronAccount => ({
  ...account,
  stakes: { ...account.stakes, [resource]: { ...account.stakes[resource], ...change } }
})

/** The account after it used an amount of a resource. */
export const spending = (account: TronAccount, resource: Resource, amount: bigint, now: number): TronAccount =>
  amount === 0n ? account : withStake(account, resource, { usage: using(account.stakes[resource].usage, amount, now) })
