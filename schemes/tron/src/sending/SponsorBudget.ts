/**
 * The budget of a sponsor's energy: limits for a payment, for a payer, for the payers of a caller, and for all in any 24 hours. A
 * payer may spend borrowed energy on something else: such energy is lost and its payer banned, and once too much is lost, only
 * payers that have paid with a loan before get another. The budget is in memory and starts empty with the process.
 */
import { CallerShares, LossBudget, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The limits. */
export interface Limits {
  /** Most energy lent for one payment; default 150,000, enough for USDT to a recipient who holds none. */
  readonly maxEnergyPerPayment?: bigint
  /** Most energy lent in 24 hours; default 10,000,000. */
  readonly maxEnergyPerDay?: bigint
  /** Most payments of one payer sponsored in 24 hours; default 100. */
  readonly maxPaymentsPerPayer?: number
  /** Most energy lent to one payer in 24 hours; default a fiftieth of the day's, and at least enough for one payment. */
  readonly maxEnergyPerPayer?: bigint
  /**
   * Most energy lent to the payers of one caller in 24 hours; default its share by `callers`, or a quarter of the day's if no
   * callers are named. The empty name stands for all callers if callers have no names: it has no share of its own.
   */
  readonly maxEnergyPerCaller?: bigint
  /** Names of the callers who share the day's energy and its permitted loss, if no limit for a caller is set (`CallerShares`). */
  readonly callers?: ReadonlyArray<string>
  /**
   * Most energy lost in 24 hours to payers who use it for something else, half of it to the payers of one caller; default a fifth
   * of the day's. Beyond it only payers that have paid with a loan in the last 24 hours are lent energy.
   */
  readonly maxEnergyLost?: bigint
  /** Time without loans for a payer whose loan did not lead to its payment, in milliseconds; default 24 hours. */
  readonly banMillis?: number
}

/** Checks of the limits, for options that extend them. */
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

/** A request to lend energy for a payer's payment, on behalf of a caller. */
export interface LoanRequest {
  readonly payer: string
  readonly caller: string
  readonly energy: bigint
}

/**
 * The end of a loan: it led to its payment (`paid`), its energy was used for something else (`misused`), or it was not used, through
 * the payer's fault (`unused`) or the sponsor's (`cancelled`).
 */
export type LoanEnd = "paid" | "misused" | "unused" | "cancelled"

/** The budget. A loan has the id of its payment. */
export interface SponsorBudget {
  /** Whether the loan may be made now; counts nothing. */
  readonly allows: (loan: LoanRequest) => Effect.Effect<boolean>
  /** Counts a loan until it ends or until the given time (Unix milliseconds); `false` if it may not be made. */
  readonly lend: (id: string, loan: LoanRequest, until: number) => Effect.Effect<boolean>
  readonly end: (id: string, loan: LoanRequest, end: LoanEnd) => Effect.Effect<void>
  /** Clears the loss of a loan whose payment has settled after all. */
  readonly clearLoss: (id: string) => Effect.Effect<void>
}

const dayMillis = 86_400_000

interface RecordedLoan extends LoanRequest {
  /** Unix milliseconds. */
  readonly at: number
}

const defaults = { perDay: 10_000_000n, perPayment: 150_000n, paymentsPerPayer: 100 }
/** Divisors of the day's energy: for one payer, for one caller's payers, and for the permitted loss. */
const parts = { payer: 50n, caller: 4n, lost: 5n }

const most = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

interface Bounds {
  readonly perPayment: bigint
  readonly perDay: bigint
  readonly perPayer: bigint
  readonly perCaller: bigint
  /** The parts reserved for callers; `undefined` if `perCaller` is the limit of each. */
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

/** Makes an unspent budget. */
export const make = Effect.fnUntraced(function* (limits: Limits): Effect.fn.Return<SponsorBudget, Misconfigured> {
  const { banMillis = dayMillis } = limits
  const bounds = boundsOf(limits)
  const { parts: _, ...amounts } = bounds
  if (Object.values(amounts).some((bound) => !(bound > 0))) {
    const message = "exactTron.facilitator: sponsor: all limits must be positive"
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
    allows: Effect.fnUntraced(function* (loan) {
      if (!loans.allows(loan, yield* Clock.currentTimeMillis)) return false
      return (yield* losses.judge(riskOf(loan)))._tag === "Open"
    }),
    lend: Effect.fnUntraced(function* (id, loan, until) {
      const now = yield* Clock.currentTimeMillis
      if (!loans.allows(loan, now)) return false
      if ((yield* losses.reserve(id, riskOf(loan), until))._tag !== "Open") return false
      loans.record(loan, now)
      return true
    }),
    end: (id, loan, end) => {
      const risk = riskOf(loan)
      if (end === "paid") return losses.settle(id, risk)
      if (end === "misused") return losses.lose(id, { ...risk, culprit: loan.payer })
      if (end === "cancelled") return losses.release(id)
      return losses.lose(id, { ...risk, amount: 0n, culprit: loan.payer, gravity: "slight" })
    },
    clearLoss: (id) => losses.retract(id)
  }
})

const riskOf = ({ caller, energy, payer }: LoanRequest): LossBudget.LossRisk => ({ payer, caller, amount: energy })

/** The loans of the last 24 hours. */
const makeLoans = ({ parts, paymentsPerPayer, perCaller, perDay, perPayer, perPayment }: Bounds) => {
  let loans: ReadonlyArray<RecordedLoan> = []
  const sum = (some: ReadonlyArray<RecordedLoan>) => some.reduce((total, { energy }) => total + energy, 0n)
  const of = (caller: string) => sum(loans.filter((loan) => loan.caller === caller))
  const roomOf = (caller: string): bigint => {
    const all = sum(loans)
    if (caller === "") return perDay - all
    return parts === undefined ? perCaller - of(caller) : CallerShares.roomOf(perDay, parts, caller, { all, of })
  }
  return {
    allows: ({ caller, energy, payer }: LoanRequest, now: number): boolean => {
      loans = loans.filter(({ at }) => at > now - dayMillis)
      const own = loans.filter((loan) => loan.payer === payer)
      return (
        energy <= perPayment &&
        own.length < paymentsPerPayer &&
        sum(own) + energy <= perPayer &&
        energy <= roomOf(caller) &&
        sum(loans) + energy <= perDay
      )
    },
    record: (loan: LoanRequest, now: number): void => {
      loans = [...loans, { ...loan, at: now }]
    }
  }
}
