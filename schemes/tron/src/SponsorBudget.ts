/**
 * What a sponsor lends at most: for a payment, to a payer, and to all in any 24 hours. A payer may spend borrowed energy on
 * something else, so it is a budget; it is kept in memory and begins anew with the process.
 */
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

/**
 * The limits.
 *
 * @category models
 */
export interface Limits {
  /** The most energy that is lent for one payment; default 150,000, enough for USDT to somebody who holds none. */
  readonly maxEnergyPerPayment?: bigint
  /** The most energy that is lent in 24 hours; default 10,000,000. */
  readonly maxEnergyPerDay?: bigint
  /** How many payments of one payer are sponsored in 24 hours; default 100. */
  readonly maxPaymentsPerPayer?: number
}

/**
 * The keys of the limits, for those who add their own.
 *
 * @category constants
 */
export const keys: OptionCheck.Table<Limits> = {
  maxEnergyPerPayment: OptionCheck.optional(OptionCheck.amount()),
  maxEnergyPerDay: OptionCheck.optional(OptionCheck.amount()),
  maxPaymentsPerPayer: OptionCheck.optional(OptionCheck.whole())
}

/**
 * The budget.
 *
 * @category models
 */
export interface SponsorBudget {
  /** Whether so much may be lent to this payer now (Unix milliseconds). */
  readonly allows: (payer: string, energy: bigint, now: number) => boolean
  /** Counts a loan that is made. */
  readonly spend: (payer: string, energy: bigint, now: number) => void
}

const dayMillis = 86_400_000

interface Entry {
  readonly payer: string
  readonly energy: bigint
  readonly at: number
}

/**
 * Makes a budget of which nothing is spent.
 *
 * @category constructors
 */
export const make = (limits: Limits): Effect.Effect<SponsorBudget, Misconfigured> => {
  const { maxEnergyPerDay = 10_000_000n, maxEnergyPerPayment = 150_000n, maxPaymentsPerPayer = 100 } = limits
  if (maxEnergyPerPayment <= 0n || maxEnergyPerDay <= 0n || !(maxPaymentsPerPayer > 0)) {
    const message = "exactTron.facilitator: sponsor: its limits must be positive"
    return Effect.fail(new Misconfigured({ message }))
  }
  let entries: Array<Entry> = []
  let total = 0n
  const prune = (now: number) => {
    const first = entries.findIndex(({ at }) => at > now - dayMillis)
    const old = entries.splice(0, first === -1 ? entries.length : first)
    for (const { energy } of old) total -= energy
  }
  return Effect.succeed({
    allows: (payer, energy, now) => {
      prune(now)
      const own = entries.filter((entry) => entry.payer === payer).length
      return energy <= maxEnergyPerPayment && total + energy <= maxEnergyPerDay && own < maxPaymentsPerPayer
    },
    spend: (payer, energy, now) => {
      entries = [...entries, { payer, energy, at: now }]
      total += energy
    }
  })
}
