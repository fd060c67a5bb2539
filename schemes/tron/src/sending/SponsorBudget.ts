/**
 * What a sponsor lends at most: for a payment, to a payer, to the payers of a caller, and to all in any 24 hours. A payer may
 * spend borrowed energy on something else: energy that did not serve its payment is lost, its payer is banned, and above a part
 * of the whole nobody is lent any who has not paid with a loan before. All of it is kept in memory and begins anew with the
 * process.
 */
import { CallerShares, LossBudget, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The limits. */
export interface Limits {
  /** The most energy that is lent for one payment; default 150,000, enough for USDT to somebody who holds none. */
  readonly maxEnergyPerPayment?: bigint
  /** The most energy that is lent in 24 hours; default 10,000,000. */
  readonly maxEnergyPerDay?: bigint
  /** How many payments of one payer are sponsored in 24 hours; default 100. */
  readonly maxPaymentsPerPayer?: number
  /** The most energy that is lent to one payer in 24 hours; default a fiftieth of a day's, and enough for one payment. */
  readonly maxEnergyPerPayer?: bigint
  /**
   * The most energy that is lent to the payers of one caller in 24 hours; default its share by `callers`, and where these are not
   * named a quarter of a day's. The caller of the empty name is everybody where callers are not told apart: it has no share of its own.
   */
  readonly maxEnergyPerCaller?: bigint
  /** The names of the callers who share a day's energy and what may be lost of it, where no limit of a caller is set (`CallerShares`). */
  readonly callers?: ReadonlyArray<string>
  /**
   * The most energy that loans may lose in 24 hours to payers who use it otherwise, and half of it to the payers of one caller;
   * default a fifth of a day's. Beyond it only those are lent to who have paid with a loan in the last 24 hours.
   */
  readonly maxEnergyLost?: bigint
  /** How long nothing is lent to a payer after a loan that did not serve its payment; milliseconds, default 24 hours. */
  readonly banMillis?: number
}

/** The keys of the limits, for those who add their own. */
export const keys: OptionCheck.Table<Limits> = {
  maxEnergyPerPayment: OptionCheck.optional(OptionCheck.amount()),
  maxEnergyPerDay: OptionCheck.optional(OptionCheck.amount()),
  maxPaymentsPerPayer: OptionCheck.optional(OptionCheck.whole()),
  maxEnergyPerPayer: OptionCheck.optional(OptionCheck.amount()),
  maxEnergyPerCaller: OptionCheck.optional(OptionCheck.amount()),
  callers: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  maxEnergyLost: OptionCheck.optional(OptionCheck.amount()),
  banMillis: OptionCheck.optional(OptionCheck.whole())
}

/** A loan: so much energy, for a payment of this payer, on behalf of this caller. */
export interface Lending {
  readonly payer: string
  readonly caller: string
  readonly energy: bigint
}

/**
 * How a loan has ended: it `served` its payment; its energy was used for something else (`misused`); it was not used, for a
 * reason of the payer's (`idle`) or of ours (`spared`).
 */
export type LoanEnd = "served" | "misused" | "idle" | "spared"

/** The budget. A loan is known by the id of its payment. */
export interface SponsorBudget {
  /** Whether so much may be lent now. Counts nothing. */
  readonly allows: (lending: Lending) => Effect.Effect<boolean>
  /** Counts a loan that is made, unless it may not be; until it ends, or until this time (Unix milliseconds). */
  readonly lend: (id: string, lending: Lending, until: number) => Effect.Effect<boolean>
  readonly end: (id: string, lending: Lending, end: LoanEnd) => Effect.Effect<void>
  /** The payment of a loan is settled, whatever its end was: nothing is held against its payer. */
  readonly absolve: (id: string) => Effect.Effect<void>
}

const dayMillis = 86_400_000

interface Entry extends Lending {
  readonly at: number
}

const defaults = { perDay: 10_000_000n, perPayment: 150_000n, paymentsPerPayer: 100 }
/** The parts of a day's energy that are lent to one payer, to one caller's, and that may be lost. */
const parts = { payer: 50n, caller: 4n, lost: 5n }

const most = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

interface Bounds {
  readonly perPayment: bigint
  readonly perDay: bigint
  readonly perPayer: bigint
  readonly perCaller: bigint
  /** The parts held for callers; `undefined` where `perCaller` is the limit of each. */
  readonly parts: CallerShares.Parts | undefined
  readonly lost: bigint
  readonly paymentsPerPayer: number
}

const boundsOf = (limits: Limits): Bounds => {
  const { maxEnergyPerDay: perDay = defaults.perDay, maxEnergyPerPayment: perPayment = defaults.perPayment } = limits
  const sharers = limits.maxEnergyPerCaller === undefined ? limits.callers : undefined
  const share = (part: bigint) => least(perDay, most(perDay / part, perPayment))
  return {
    perPayment,
    perDay,
    perPayer: limits.maxEnergyPerPayer ?? share(parts.payer),
    perCaller: limits.maxEnergyPerCaller ?? share(parts.caller),
    parts: sharers && CallerShares.partsOf(perDay, sharers),
    lost: limits.maxEnergyLost ?? share(parts.lost),
    paymentsPerPayer: limits.maxPaymentsPerPayer ?? defaults.paymentsPerPayer
  }
}

/** Makes a budget of which nothing is spent. */
export const make = Effect.fnUntraced(function* (limits: Limits): Effect.fn.Return<SponsorBudget, Misconfigured> {
  const { banMillis = dayMillis } = limits
  const bounds = boundsOf(limits)
  const { parts: _, ...amounts } = bounds
  if (Object.values(amounts).some((bound) => !(bound > 0))) {
    const message = "exactTron.facilitator: sponsor: its limits must be positive"
    return yield* new Misconfigured({ message })
  }
  const { lost, perPayer } = bounds
  const losses = yield* LossBudget.make({
    total: lost,
    ...(bounds.parts === undefined ? { perCaller: most(lost / 2n, 1n) } : { callers: limits.callers ?? [] }),
    perPayer: least(lost, perPayer),
    banMillis
  })
  const loans = makeLoans(bounds)
  return {
    allows: Effect.fnUntraced(function* (lending) {
      if (!loans.allows(lending, yield* Clock.currentTimeMillis)) return false
      return (yield* losses.judge(riskOf(lending)))._tag === "Open"
    }),
    lend: Effect.fnUntraced(function* (id, lending, until) {
      const now = yield* Clock.currentTimeMillis
      if (!loans.allows(lending, now)) return false
      if ((yield* losses.reserve(id, riskOf(lending), until))._tag !== "Open") return false
      loans.spend(lending, now)
      return true
    }),
    end: (id, lending, end) => {
      const risk = riskOf(lending)
      if (end === "served") return losses.settle(id, risk)
      if (end === "misused") return losses.lose(id, { ...risk, culprit: lending.payer })
      if (end === "spared") return losses.release(id)
      return losses.lose(id, { ...risk, amount: 0n, culprit: lending.payer, gravity: "slight" })
    },
    absolve: (id) => losses.retract(id)
  }
})

const riskOf = ({ caller, energy, payer }: Lending): LossBudget.LossRisk => ({ payer, caller, amount: energy })

/** What was lent in the last 24 hours. */
const makeLoans = ({ parts, paymentsPerPayer, perCaller, perDay, perPayer, perPayment }: Bounds) => {
  let entries: ReadonlyArray<Entry> = []
  const sum = (all: ReadonlyArray<Entry>) => all.reduce((total, { energy }) => total + energy, 0n)
  const of = (caller: string) => sum(entries.filter((entry) => entry.caller === caller))
  const roomOf = (caller: string): bigint => {
    const all = sum(entries)
    if (caller === "") return perDay - all
    return parts === undefined ? perCaller - of(caller) : CallerShares.roomOf(perDay, parts, caller, { all, of })
  }
  return {
    allows: ({ caller, energy, payer }: Lending, now: number): boolean => {
      entries = entries.filter(({ at }) => at > now - dayMillis)
      const own = entries.filter((entry) => entry.payer === payer)
      return (
        energy <= perPayment &&
        own.length < paymentsPerPayer &&
        sum(own) + energy <= perPayer &&
        energy <= roomOf(caller) &&
        sum(entries) + energy <= perDay
      )
    },
    spend: (lending: Lending, now: number): void => {
      entries = [...entries, { ...lending, at: now }]
    }
  }
}
