/**
 * The limits of a facilitator's losses to failed payments in 24 hours: in all, per caller and per payer. A pending payment counts with
 * the most that it may lose, from before it is signed. A payer that caused the failure of its payment is banned for a while, and so
 * is the code of its account if it is given.
 *
 * An exhausted budget refuses only newcomers. A payer has proven itself once a payment of its was settled here in the last 24 hours and
 * none was lost since. It is served beyond the budgets of its caller and of all, one payment at a time, and more of them as long as its
 * pending and lost amounts are no more than its settled ones. So a caller's trouble stops no other caller, and in 24 hours the losses
 * are at most `total` and, for each proven payer, the larger of one payment and its settled amount.
 *
 * Everything is in memory and starts empty with the process. Its size is bounded.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as BoundedMap from "../platform/BoundedMap.ts"
import { FacilitatorUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import * as CallerShares from "./CallerShares.ts"
import * as DaySum from "./DaySum.ts"

/** The limits, in the network's smallest native unit (or in another unit of all amounts). */
export interface Limits {
  /** The most that may be lost in 24 hours. Above zero. */
  readonly total: bigint
  /**
   * The most that may be lost to the payers of one caller; default its share by `callers`, and without these a quarter of `total`. The
   * caller with the empty name stands for all callers without names: it has no share of its own.
   */
  readonly perCaller?: bigint
  /** The names of the callers that share `total` if `perCaller` sets no limit (`CallerShares`). */
  readonly callers?: ReadonlyArray<string>
  /** The most that may be lost to one payer that has not proven itself; default a quarter of `total`. */
  readonly perPayer?: bigint
  /** The duration of a ban, in milliseconds; default one hour. */
  readonly banMillis?: number
}

/**
 * The payer of a payment, the caller on whose behalf it is settled, and the hash of the code of the payer's account, if that code is to
 * be banned with it.
 */
export interface LossParty {
  readonly payer: string
  readonly caller: string
  readonly codeHash?: string | undefined
  /**
   * The payment is the facilitator's own delivery (`Delivery.isPush`). Its recipient is owed it, whatever strangers have done to earlier
   * ones and other payers have lost: it is never refused, and counts nothing. Its attempts and the gas ceiling bound it.
   */
  readonly isOwn?: boolean
}

/** A payment to be signed for, and the most that may be lost with it. */
export interface LossRisk extends LossParty {
  readonly amount: bigint
}

/**
 * A payment's loss. `culprit` is the account to be banned: at once if the loss is `grave`, at the third loss in a day if it is
 * `slight`. Without a culprit no account is banned, and the payer stays as proven as it was.
 */
export interface Loss extends LossRisk {
  readonly culprit?: string | undefined
  readonly gravity?: "grave" | "slight"
}

/** Whether a payment may be signed for: if not, the account or code is `Banned`, or a share is `Exhausted`. */
export type LossVerdict =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Banned"; readonly account: string; readonly until: number }
  | { readonly _tag: "Exhausted"; readonly share: "payer" | "caller" | "all" }

/** The budget. A payment is known by an id of the caller's choice that no other payment has. */
export interface LossBudget {
  /** Whether a payment of this risk may be signed for now. Counts nothing. */
  readonly judge: (risk: LossRisk) => Effect.Effect<LossVerdict>
  /**
   * Counts a payment as pending, unless it may not be signed for, until it ends, or until that time (Unix milliseconds). A payment that
   * is pending already is not judged again: it counts with the larger risk and the later time.
   */
  readonly reserve: (id: string, risk: LossRisk, until: number) => Effect.Effect<LossVerdict>
  /** Counts a payment as pending, whatever its verdict: it was signed for before this process began, or under other limits. */
  readonly hold: (id: string, risk: LossRisk, until: number) => Effect.Effect<void>
  /** A payment was settled: its payer has proven itself. Counts once, and takes back a loss that was counted for it. */
  readonly settle: (id: string, party: LossParty) => Effect.Effect<void>
  /** A payment has failed with this loss. Counts once, also for a payment that is not known as pending. */
  readonly lose: (id: string, loss: Loss) => Effect.Effect<void>
  /**
   * The block that showed a payment's loss is not part of the chain any more: the counted loss is taken back, and the ban that it
   * caused is lifted. Nothing happens if no loss was counted.
   */
  readonly retract: (id: string) => Effect.Effect<void>
  /** A payment is not pending any more, without a loss. */
  readonly release: (id: string) => Effect.Effect<void>
  /** The end of the ban of an account or of a code (Unix milliseconds); `undefined` without a ban. */
  readonly bannedUntil: (name: string) => Effect.Effect<number | undefined>
}

const defaultBanMillis = 3_600_000
/** The default shares of a caller and of a payer in the total. */
const shareOfTotal = 4n
/** Slight losses in a day after which an account is banned. */
const patience = 3n
/** The most accounts, ids, bans and pending payments that are remembered, each. */
const capacity = 50_000

/** An account's last 24 hours, and the risks of its pending payments. */
interface Account {
  readonly lost: DaySum.DaySum
  readonly slights: DaySum.DaySum
  /** The risks of the payments that were settled since the last loss. */
  settled: DaySum.DaySum
  atRisk: bigint
  /** The part at risk that is served beyond the budgets of others. */
  trusted: bigint
}

interface PendingRisk {
  readonly party: LossParty
  readonly isTrusted: boolean
  amount: bigint
  until: number
}

interface Ledger {
  readonly total: bigint
  readonly perCaller: bigint
  /** The parts held for callers; `undefined` if `perCaller` is the limit of each. */
  readonly parts: CallerShares.Parts | undefined
  readonly perPayer: bigint
  readonly banMillis: number
  /** Last used last. */
  readonly accounts: Map<string, Account>
  readonly callers: Map<string, { readonly lost: DaySum.DaySum; atRisk: bigint }>
  readonly lost: DaySum.DaySum
  readonly pending: Map<string, PendingRisk>
  /** No pending payment ends by time before this; Unix milliseconds. */
  nextEnd: number
  atRisk: bigint
  /** The ends of bans (Unix milliseconds), by the account or code, and by the payments that caused them. */
  readonly bans: BoundedMap.BoundedMap<string, BoundedMap.BoundedMap<string, number>>
  /** Payments that have ended, and the counted losses. */
  readonly ended: BoundedMap.BoundedMap<string, Counted | undefined>
}

interface Counted {
  readonly loss: Loss
  readonly at: number
  /** The payer's settled sum until then, if it caused the loss itself. */
  readonly settled: DaySum.DaySum | undefined
}

/** A budget without losses. */
export const make = (limits: Limits): Effect.Effect<LossBudget, Misconfigured> => {
  const { banMillis = defaultBanMillis, total } = limits
  const { perCaller = atLeastOne(total / shareOfTotal), perPayer = atLeastOne(total / shareOfTotal) } = limits
  if (total <= 0n) return wrong(`the total ${total} is not above zero`)
  if (perCaller <= 0n || perCaller > total)
    return wrong(`perCaller ${perCaller} is not between 1 and the total ${total}`)
  if (perPayer <= 0n || perPayer > total) return wrong(`perPayer ${perPayer} is not between 1 and the total ${total}`)
  if (!Number.isSafeInteger(banMillis) || banMillis < 0)
    return wrong(`banMillis ${banMillis} is not a whole number from 0`)
  const ledger: Ledger = {
    total,
    perCaller,
    parts: limits.perCaller === undefined && limits.callers ? CallerShares.partsOf(total, limits.callers) : undefined,
    perPayer,
    banMillis,
    accounts: new Map(),
    callers: new Map(),
    lost: DaySum.make(),
    pending: new Map(),
    nextEnd: Infinity,
    atRisk: 0n,
    bans: BoundedMap.oldestOut(capacity),
    ended: BoundedMap.oldestOut(capacity)
  }
  return Effect.succeed({
    judge: (risk) => counted(risk, open, (at) => judged(ledger, risk, at).verdict),
    reserve: (id, risk, until) => counted(risk, open, (at) => reserve(ledger, id, risk, until, at)),
    hold: (id, risk, until) => counted(risk, undefined, (at) => hold(ledger, id, risk, until, at)),
    settle: (id, party) => counted(party, undefined, (at) => settle(ledger, id, party, at)),
    lose: (id, loss) => counted(loss, undefined, (at) => lose(ledger, id, loss, at)),
    retract: (id) => Effect.sync(() => retract(ledger, id)),
    release: (id) => Effect.sync(() => end(ledger, id)),
    bannedUntil: (name) => now((at) => banOf(ledger, name, at))
  })
}

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `the loss budget: ${what}` }))

const now = <A>(run: (now: number) => A): Effect.Effect<A> => Effect.map(Clock.currentTimeMillis, run)

/** The same for payments that count: the facilitator's own ones give `none`. */
const counted = <A>({ isOwn }: LossParty, none: A, run: (now: number) => A): Effect.Effect<A> =>
  isOwn === true ? Effect.succeed(none) : now(run)

/**
 * Succeeds if a payment may be signed for. A ban is a verdict about the payer; an exhausted budget is none about the payment, which may
 * be sent again.
 */
export const demand = (verdict: LossVerdict): Effect.Effect<void, ValidationError | FacilitatorUnavailable> => {
  switch (verdict._tag) {
    case "Open":
      return Effect.void
    case "Banned":
      return Effect.flatMap(Clock.currentTimeMillis, (at) => Effect.fail(banned(verdict.account, verdict.until - at)))
    case "Exhausted":
      return Effect.fail(new FacilitatorUnavailable({ message: exhausted[verdict.share] }))
  }
}

const banned = (account: string, millis: number): ValidationError => {
  const minutes = Math.max(1, Math.ceil(millis / 60_000))
  const message = `a payment of ${account} failed on the chain at the facilitator's expense; no other is settled for ${minutes} minutes`
  return invalid("unsupported_authorization", "account_banned", message)
}

const tryAgain = "send the same payment again later"

const exhausted = {
  payer: `the payer's pending payments and those lost in 24 hours leave no room in its loss budget; ${tryAgain}`,
  caller: `failed payments have used up the loss budget of this caller, and the payer has settled none here in 24 hours; ${tryAgain}`,
  all: `failed payments have used up the facilitator's loss budget, and the payer has settled none here in 24 hours; ${tryAgain}`
} as const

const atLeastOne = (share: bigint): bigint => (share > 0n ? share : 1n)

const judged = (
  ledger: Ledger,
  risk: LossRisk,
  now: number
): { readonly verdict: LossVerdict; readonly isTrusted: boolean } => {
  const { amount, codeHash, payer } = risk
  endLate(ledger, now)
  for (const account of [payer, codeHash]) {
    const until = account === undefined ? undefined : banOf(ledger, account, now)
    if (account !== undefined && until !== undefined)
      return { verdict: { _tag: "Banned", account, until }, isTrusted: false }
  }
  const own = ledger.accounts.get(payer)
  const settled = own?.settled.total(now) ?? 0n
  const used = own === undefined ? 0n : own.trusted + own.lost.total(now)
  if (settled > 0n && (used === 0n || used + amount <= settled)) return { verdict: open, isTrusted: true }
  const share = exhaustedShare(ledger, risk, own, now)
  if (share === undefined) return { verdict: open, isTrusted: false }
  // A payer that has settled is not refused for the losses of others: it has too much at risk itself.
  return { verdict: { _tag: "Exhausted", share: settled > 0n ? "payer" : share }, isTrusted: false }
}

const open: LossVerdict = { _tag: "Open" }

/** An unused share holds one payment, whatever its risk: otherwise a high gas price would stop every payer. */
const exhaustedShare = (
  ledger: Ledger,
  { amount, caller }: LossRisk,
  own: Account | undefined,
  now: number
): "payer" | "caller" | "all" | undefined => {
  const exceeds = (used: bigint, limit: bigint) => used > 0n && used + amount > limit
  const ownUsed = own === undefined ? 0n : own.lost.total(now) + own.atRisk - own.trusted
  if (exceeds(ownUsed, ledger.perPayer)) return "payer"
  const all = ledger.lost.total(now) + ledger.atRisk
  const of = (name: string) => usedBy(ledger, name, now)
  const used = of(caller)
  const limit = ledger.parts && used + CallerShares.roomOf(ledger.total, ledger.parts, caller, { all, of })
  if (caller !== "" && exceeds(used, limit ?? ledger.perCaller)) return "caller"
  return all + amount > ledger.total ? "all" : undefined
}

const usedBy = ({ callers }: Ledger, name: string, now: number): bigint => {
  const known = callers.get(name)
  return known === undefined ? 0n : known.lost.total(now) + known.atRisk
}

const reserve = (ledger: Ledger, id: string, risk: LossRisk, until: number, now: number): LossVerdict => {
  const known = ledger.pending.get(id)
  if (known !== undefined) {
    known.until = Math.max(known.until, until)
    if (risk.amount > known.amount) {
      count(ledger, known, risk.amount - known.amount)
      known.amount = risk.amount
    }
    return open
  }
  const { isTrusted, verdict } = judged(ledger, risk, now)
  if (verdict._tag !== "Open") return verdict
  if (ledger.pending.size >= capacity) return { _tag: "Exhausted", share: "all" }
  begin(ledger, id, risk, until, isTrusted)
  return open
}

const begin = (ledger: Ledger, id: string, risk: LossRisk, until: number, isTrusted: boolean): void => {
  const { amount, caller, codeHash, payer } = risk
  const pending: PendingRisk = { party: { payer, caller, codeHash }, isTrusted, amount, until }
  // A payment that is pending again was not lost.
  retract(ledger, id)
  ledger.ended.delete(id)
  ledger.pending.set(id, pending)
  ledger.nextEnd = Math.min(ledger.nextEnd, until)
  count(ledger, pending, amount)
}

const hold = (ledger: Ledger, id: string, risk: LossRisk, until: number, now: number): void => {
  if (reserve(ledger, id, risk, until, now)._tag !== "Open") begin(ledger, id, risk, until, false)
}

/** Adds to the risk of a pending payment, or subtracts. A trusted payment takes nothing from the shared budgets. */
const count = (ledger: Ledger, { isTrusted, party: { caller, payer } }: PendingRisk, amount: bigint): void => {
  const account = accountOf(ledger, payer)
  account.atRisk += amount
  if (isTrusted) {
    account.trusted += amount
    return
  }
  ledger.atRisk += amount
  callerOf(ledger, caller).atRisk += amount
}

/** Ends a pending payment. */
const end = (ledger: Ledger, id: string): PendingRisk | undefined => {
  const pending = ledger.pending.get(id)
  if (pending === undefined) return undefined
  ledger.pending.delete(id)
  count(ledger, pending, -pending.amount)
  return pending
}

const endLate = (ledger: Ledger, now: number): void => {
  if (now < ledger.nextEnd) return
  let next = Infinity
  for (const [id, { until }] of ledger.pending) {
    if (until <= now) end(ledger, id)
    else next = Math.min(next, until)
  }
  ledger.nextEnd = next
}

const settle = (ledger: Ledger, id: string, { payer }: LossParty, now: number): void => {
  const pending = end(ledger, id)
  retract(ledger, id)
  if (isEndedBefore(ledger, id, undefined)) return
  accountOf(ledger, payer).settled.add(pending !== undefined && pending.amount > 0n ? pending.amount : 1n, now)
}

const lose = (ledger: Ledger, id: string, loss: Loss, now: number): void => {
  end(ledger, id)
  const { culprit, payer } = loss
  const account = accountOf(ledger, payer)
  const settled = culprit === payer ? account.settled : undefined
  if (isEndedBefore(ledger, id, { loss, at: now, settled })) return
  const { caller, codeHash, gravity = "grave" } = loss
  const amount = amountOf(loss)
  account.lost.add(amount, now)
  callerOf(ledger, caller).lost.add(amount, now)
  ledger.lost.add(amount, now)
  if (culprit === undefined) return
  if (culprit === payer) account.settled = DaySum.make()
  const guilty = accountOf(ledger, culprit)
  guilty.slights.add(1n, now)
  if (gravity === "slight" && guilty.slights.total(now) < patience) return
  ban(ledger, culprit, id, now)
  if (codeHash !== undefined && culprit === payer) ban(ledger, codeHash, id, now)
}

const amountOf = ({ amount }: Loss): bigint => (amount > 0n ? amount : 0n)

const retract = (ledger: Ledger, id: string): void => {
  const counted = ledger.ended.get(id)
  if (counted === undefined) return
  ledger.ended.delete(id)
  const { at, loss, settled } = counted
  const { caller, codeHash, culprit, payer } = loss
  const amount = amountOf(loss)
  const account = ledger.accounts.get(payer)
  account?.lost.take(amount, at)
  ledger.callers.get(caller)?.lost.take(amount, at)
  ledger.lost.take(amount, at)
  if (culprit === undefined) return
  // The payer is as proven as it was before; sums settled meanwhile are not added.
  if (account !== undefined && settled !== undefined) account.settled = settled
  ledger.accounts.get(culprit)?.slights.take(1n, at)
  for (const name of [culprit, codeHash]) {
    if (name === undefined) continue
    const causes = ledger.bans.get(name)
    causes?.delete(id)
    if (causes?.size === 0) ledger.bans.delete(name)
  }
}

/** Each payment ends once, even if its end is observed repeatedly. */
const isEndedBefore = ({ ended }: Ledger, id: string, counted: Counted | undefined): boolean => {
  if (ended.has(id)) return true
  ended.set(id, counted)
  return false
}

/** The most remembered payments that caused one ban. */
const mostCauses = 16

const ban = ({ banMillis, bans }: Ledger, name: string, cause: string, now: number): void => {
  if (banMillis === 0) return
  const causes = bans.get(name) ?? BoundedMap.oldestOut<string, number>(mostCauses)
  bans.set(name, causes)
  causes.set(cause, now + banMillis)
}

const banOf = ({ bans }: Ledger, name: string, now: number): number | undefined => {
  const causes = bans.get(name)
  if (causes === undefined) return undefined
  for (const [cause, until] of causes) if (until <= now) causes.delete(cause)
  if (causes.size > 0) return Math.max(...causes.values())
  bans.delete(name)
  return undefined
}

const newAccount = (): Account => ({
  lost: DaySum.make(),
  slights: DaySum.make(),
  settled: DaySum.make(),
  atRisk: 0n,
  trusted: 0n
})

const accountOf = ({ accounts }: Ledger, name: string): Account => {
  const known = accounts.get(name)
  const account = known ?? newAccount()
  accounts.delete(name)
  accounts.set(name, account)
  if (known !== undefined || accounts.size <= capacity) return account
  // Accounts at risk are at most as many; a forgotten one becomes a newcomer.
  for (const [oldest, { atRisk }] of accounts) {
    if (atRisk > 0n || oldest === name) continue
    accounts.delete(oldest)
    break
  }
  return account
}

const callerOf = ({ callers }: Ledger, name: string) => {
  const known = callers.get(name)
  if (known !== undefined) return known
  const caller = { lost: DaySum.make(), atRisk: 0n }
  callers.set(name, caller)
  return caller
}
