/**
 * The TRX, energy and bandwidth that pending payments will take from their payers. Each of a payer's payments may be valid by itself
 * while the account can pay for one only: a node accepts them all, and those that the account cannot pay for enter no block. So a
 * payment is submitted only if the payer's other payments leave enough for it.
 *
 * The commitments are in memory and start empty with the process; a payer's share of its lane limits those that are unknown.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Prices, Resources } from "../node/TronRpc.ts"

/** The resources that a transfer takes from its payer. */
export interface Need {
  /** Energy that is not lent. */
  readonly energy: bigint
  /** Bandwidth, in bytes. */
  readonly bytes: bigint
}

/** The funds of an account at one time. */
export interface Means extends Pick<Resources, "energy" | "freeBandwidth" | "stakedBandwidth"> {
  /** Sun. */
  readonly balance: bigint
}

/** The resources committed to a payment. */
export interface Commitment extends Need {
  /** Id of the payment's transaction. */
  readonly id: string
  readonly payer: string
  /** Time until which a block may include the transaction; Unix milliseconds. */
  readonly until: number
}

/** The commitments. */
export interface TronCommitments {
  /** Whether the payer's means cover this payment and its other pending ones. Counts nothing. */
  readonly allow: (commitment: Commitment, means: Means, prices: Prices) => Effect.Effect<boolean>
  /** Counts the payment as pending if the means cover it. A payment that is counted already stays as it is. */
  readonly reserve: (commitment: Commitment, means: Means, prices: Prices) => Effect.Effect<boolean>
  /** Removes a payment that has ended or will not be submitted. */
  readonly release: (id: string) => Effect.Effect<void>
}

/** Makes empty commitments. */
export const make = (): TronCommitments => {
  const byPayer = new Map<string, Map<string, Commitment>>()
  const payers = new Map<string, string>()
  const drop = (id: string) => {
    const payer = payers.get(id)
    const own = payer === undefined ? undefined : byPayer.get(payer)
    payers.delete(id)
    own?.delete(id)
    if (payer !== undefined && own?.size === 0) byPayer.delete(payer)
  }
  /** Removes up to two expired payments, whose end another process or none has seen, so that they never pile up. */
  const removeExpired = (now: number) => {
    let most = 2
    for (const [id, payer] of payers) {
      if (most-- === 0 || (byPayer.get(payer)?.get(id)?.until ?? 0) > now) return
      drop(id)
    }
  }
  const othersOf = ({ id, payer }: Commitment, now: number) => {
    const own = [...(byPayer.get(payer)?.values() ?? [])]
    for (const one of own) if (one.until <= now) drop(one.id)
    return own.filter((one) => one.id !== id && one.until > now)
  }
  const allows = (commitment: Commitment, means: Means, prices: Prices, now: number) =>
    isEnough([...othersOf(commitment, now), commitment], means, prices)
  return {
    allow: (commitment, means, prices) =>
      Effect.map(Clock.currentTimeMillis, (now) => allows(commitment, means, prices, now)),
    reserve: (commitment, means, prices) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const { id, payer } = commitment
        if (payers.has(id)) return true
        if (!allows(commitment, means, prices, now)) return false
        removeExpired(now)
        const own = byPayer.get(payer) ?? new Map<string, Commitment>()
        byPayer.set(payer, own.set(id, commitment))
        payers.set(id, payer)
        return true
      }),
    release: (id) => Effect.sync(() => drop(id))
  }
}

const isEnough = (needs: ReadonlyArray<Need>, means: Means, prices: Prices): boolean =>
  burntBy(needs, means, prices) <= means.balance

/**
 * The sun that the chain burns of an account for transfers one after the other. Missing energy is burnt, and so is the whole
 * bandwidth of a transfer that neither the staked nor the free bandwidth covers alone.
 */
export const burntBy = (needs: ReadonlyArray<Need>, means: Means, prices: Prices): bigint => {
  let { energy, freeBandwidth, stakedBandwidth } = means
  let burnt = 0n
  for (const need of needs) {
    const missing = need.energy > energy ? need.energy - energy : 0n
    energy -= need.energy - missing
    burnt += missing * prices.energy
    if (stakedBandwidth >= need.bytes) stakedBandwidth -= need.bytes
    else if (freeBandwidth >= need.bytes) freeBandwidth -= need.bytes
    else burnt += need.bytes * prices.bandwidth
  }
  return burnt
}
