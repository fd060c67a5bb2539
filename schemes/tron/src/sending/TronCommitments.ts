/**
 * What the payments that are on their way will take of their payers' TRX, energy and bandwidth. Each of a payer's payments is
 * good by itself, and the account may pay for one of them only: a node takes them all, and those that the account cannot pay
 * for any more come into no block. So a payment departs only with what its payer's others leave.
 *
 * It is in memory and begins anew with the process; a payer's share of its lane bounds what is not known of.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Prices, Resources } from "../node/TronRpc.ts"

/** What a transfer takes: energy, as far as nobody lends it, and bandwidth in bytes. */
export interface Need {
  readonly energy: bigint
  readonly bytes: bigint
}

/** What an account has, as of a moment: sun, and its resources. */
export interface Means extends Pick<Resources, "energy" | "freeBandwidth" | "stakedBandwidth"> {
  readonly balance: bigint
}

/** A payment, by its transaction's id, and until when a block may take it (Unix milliseconds). */
export interface Commitment extends Need {
  readonly id: string
  readonly payer: string
  readonly until: number
}

/** The commitments. */
export interface TronCommitments {
  /** Whether the payer's means are enough for this payment and for the others that are on their way. Counts nothing. */
  readonly allow: (commitment: Commitment, means: Means, prices: Prices) => Effect.Effect<boolean>
  /** Counts the payment as on its way, if the means are enough. One that counts already stays as it is. */
  readonly reserve: (commitment: Commitment, means: Means, prices: Prices) => Effect.Effect<boolean>
  /** The payment has ended, or will not be sent. */
  readonly release: (id: string) => Effect.Effect<void>
}

/** Nothing is on its way. */
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
  /** Payments whose end was seen by another process, or by none: two of them go for each that comes, so they never pile up. */
  const forgetOver = (now: number) => {
    let looks = 2
    for (const [id, payer] of payers) {
      if (looks-- === 0 || (byPayer.get(payer)?.get(id)?.until ?? 0) > now) return
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
        forgetOver(now)
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
 * What the chain burns of an account for transfers one after the other, in sun. Energy that is missing is burnt, and so is the
 * whole of a transfer's bandwidth where neither the staked nor the free one covers it alone.
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
