/**
 * One simulation: a plan is carried out step by step, every promise is looked at after every step, and when the troubles are
 * over everything has to come to its end.
 */
import { PaymentChange, type PaymentStore, Settlement } from "@pontage/core"

import * as Acts from "./Acts.ts"
import type { Violation } from "./Invariant.ts"
import type { PurchaseStory } from "./Purchases.ts"
import * as Purchases from "./Purchases.ts"
import * as RecordWatch from "./RecordWatch.ts"
import * as SimulationGround from "./SimulationGround.ts"
import * as SimulationMutation from "./SimulationMutation.ts"
import type { Purchase, SimulationPlan } from "./SimulationPlan.ts"
import type { SimulationWorld } from "./SimulationWorld.ts"
import * as SimulationWorlds from "./SimulationWorld.ts"

/** The result of a simulation. */
export interface SimulationResult {
  readonly plan: SimulationPlan
  readonly violation: Violation | undefined
  readonly story: ReadonlyArray<string>
  readonly digest: string
  readonly steps: number
  /** Its duration in simulated time, in milliseconds. */
  readonly millis: number
  readonly served: number
}

export interface Options {
  readonly mutation?: SimulationMutation.SimulationMutation
  /** Whether the story is to be told. */
  readonly tells?: boolean
}

/**
 * When nothing new goes wrong any more, and what was wrong is mended: when the last trouble is over and the last buyer has come;
 * milliseconds since the beginning.
 */
const calmOf = ({ acts, purchases }: SimulationPlan): number =>
  Math.max(...acts.map((act) => act.at + Acts.durationOf(act)), ...purchases.map(({ at }) => at + patienceMillis))

const patienceMillis = 10_000
/** The longest that everything may take to end after that. */
const endMillis = 300_000
/** Interval of the check whether everything has ended, in milliseconds. */
const lookMillis = 1000
/** More steps than any simulation takes that comes to its end. */
const mostSteps = 400_000

/** Carries a plan out. */
export const run = async (plan: SimulationPlan, options: Options = {}): Promise<SimulationResult> => {
  // A simulation's errors need no stack traces, which cost more than the errors themselves.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return await carriedOut(plan, options)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

const carriedOut = async (plan: SimulationPlan, options: Options): Promise<SimulationResult> => {
  const world = SimulationWorlds.make(plan, options.mutation ?? SimulationMutation.none, options.tells === true)
  const { time } = world
  const begun = time.now()
  for (const purchase of plan.purchases) time.after(purchase.at, "a purchase", () => Purchases.buy(world, purchase))
  for (const act of plan.acts) time.after(act.at, "an act", () => Acts.carryOut(world, act))
  const phase = { isOver: false, steps: 0 }
  time.after(calmOf(plan), "calm", () => {
    Acts.calm(world)
    watchTheEnd(world, onTheirWay(world), time.now() + endMillis, phase)
  })
  while (!phase.isOver && world.violation() === undefined) {
    if (++phase.steps > mostSteps) world.violate({ invariant: "all-ends", words: "it goes on and on" })
    // oxlint-disable-next-line no-await-in-loop -- the test is about steps in sequence
    if (step(world)) await drained()
  }
  return {
    plan,
    violation: world.violation(),
    story: world.story.lines(),
    digest: world.story.digest(),
    steps: phase.steps,
    millis: time.now() - begun,
    served: world.purchases.filter(({ served }) => served).length
  }
}

/** One step; `true` when promises have to end before the next one. */
const step = (world: SimulationWorld): boolean => {
  if (!world.scheduler.step()) world.story.step(world.time.step() ?? "nothing")
  const { promised } = world
  world.promised = false
  return promised
}

const drained = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** One more buyer comes when all is well again: whatever else has ended, it has to be served too. */
const watchTheEnd = (
  world: SimulationWorld,
  awaited: ReadonlyArray<string>,
  deadline: number,
  phase: { isOver: boolean }
): void => {
  Purchases.buy(world, lastPurchase)
  const look = () => {
    const open = whatIsOpen(world)
    if (open === undefined) {
      phase.isOver = true
      const off = booksOff(world) ?? leftBehind(world, awaited)
      if (off !== undefined) world.violate(off)
    } else if (world.time.now() >= deadline) world.violate({ invariant: "all-ends", words: open })
    else world.time.after(lookMillis, "a look", look)
  }
  look()
}

const lastPurchase: Purchase = {
  at: 0,
  buyer: 100,
  kind: "ours",
  shop: 0,
  copies: 1,
  isPoor: false,
  patienceMillis: 0
}

/** Payments that are on their way when all is well again, with time enough to arrive. */
const onTheirWay = ({ plan, records, time }: SimulationWorld): ReadonlyArray<string> =>
  RecordWatch.all(records)
    .filter(
      (one) =>
        PaymentChange.isPending(one) &&
        plan.setup.gasCeiling === 0 &&
        one.authorization.validBefore * 1000 > time.now() + timeToArrive
    )
    .map(({ paymentId }) => paymentId)

const timeToArrive = 30_000

/**
 * A payment that had time enough and has not arrived, though its payer had the money and the chain has not refused it. An account
 * that pays for what it has not brought loses the trust of the facilitator, which has to pay for a transfer that fails.
 */
const leftBehind = (
  { chain, purchases, records }: SimulationWorld,
  awaited: ReadonlyArray<string>
): Violation | undefined => {
  const one = RecordWatch.all(records).find(
    ({ authorization, paymentId, status }) =>
      status === "expired" &&
      awaited.includes(paymentId) &&
      !purchases.some(({ buyer, isPoor }) => isPoor && chain.payer(buyer) === authorization.payer) &&
      moneyAt(chain, authorization, authorization.validBefore) >= authorization.amount
  )
  return one && { invariant: "all-ends", words: `${one.paymentId.slice(0, 10)} had time enough, and is ${one.status}` }
}

/** The payer's balance at an instant (Unix seconds): its balance now plus its payments since, such as one that it signed instead. */
const moneyAt = (
  { keyOf, truth }: SimulationWorld["chain"],
  authorization: PaymentStore.StoredPayment["authorization"],
  seconds: number
): bigint => {
  const [payer = ""] = keyOf(authorization).split(" ")
  return truth
    .transfers()
    .filter(({ block, key }) => key.startsWith(`${payer} `) && block.time >= seconds)
    .reduce((sum, { amount }) => sum + amount, truth.balanceOf(authorization.payer))
}

/** Something that has not come to its end. */
const whatIsOpen = (world: SimulationWorld): string | undefined => {
  const { chain, purchases, records } = world
  const waiting = purchases.find((one) => !one.served && !Purchases.isExcused(world, one))
  if (waiting !== undefined) return `${waiting.name} (${waiting.kind}) is not served${chargedWords(world, waiting)}`
  const open = RecordWatch.all(records).find(
    (one) =>
      !Settlement.isDead(one.status) && one.status !== "final" && (one.status !== "accepted" || one.lane !== undefined)
  )
  if (open !== undefined) return `${open.paymentId.slice(0, 10)} stays ${open.status} in ${open.lane ?? "no lane"}`
  for (const signer of chain.signers) {
    const open = records.read(records.disk.openTransactions(`${chain.network} ${signer}`))[0]
    if (open !== undefined) return `the lane transaction ${open.number} of ${signer} stays open`
  }
  return undefined
}

const chargedWords = ({ chain }: SimulationWorld, { signed }: PurchaseStory): string => {
  const charged = signed.filter(({ key }) => chain.truth.transferOf(key) !== undefined)
  return charged.length === 0 ? "" : `, and is charged ${charged.length} times`
}

/**
 * A shop that serves for a transfer in the newest block takes the risk that a reorganisation takes it back, and that nothing brings it
 * into a block again before its validity is over: where there was other trouble too, or little time, or where the account has spent
 * the money otherwise on the branch that came instead.
 */
const isTakenBack = ({ chain, plan }: SimulationWorld, record: PaymentStore.StoredPayment): boolean => {
  const { authorization } = record
  const reorganisations = plan.acts.filter((act) => act._tag === "Chain" && act.trouble._tag === "Reorganise")
  const last = reorganisations.reduce((latest, { at }) => Math.max(latest, at), 0)
  const left = authorization.validBefore * 1000 - (SimulationGround.start + last)
  const isAlone = reorganisations.length === plan.acts.length
  const isExplained = !(isAlone && left > timeToSettleAgain) || isSpentOtherwise(chain, record)
  return chain.truth.wasEverShown(chain.keyOf(authorization)) && isExplained
}

/** Whether it failed for its payer's balance, and the account had indeed less than its amount by then. */
const isSpentOtherwise = (
  chain: SimulationWorld["chain"],
  { authorization, history, refusal }: PaymentStore.StoredPayment
): boolean => {
  const endedAt = Math.ceil((history.at(-1)?.at ?? 0) / 1000)
  const isForBalance = refusal?._tag === "PaymentError" && refusal.code === "INSUFFICIENT_BALANCE"
  return isForBalance && moneyAt(chain, authorization, endedAt) < authorization.amount
}

const timeToSettleAgain = 15_000

/** A difference between the books when everything has ended. */
const booksOff = (world: SimulationWorld): Violation | undefined => {
  const { chain, purchases, records, runs } = world
  const known = RecordWatch.all(records)
  for (const one of purchases) {
    if (Purchases.isExcused(world, one)) continue
    const charged = one.signed.filter(({ key }) => chain.truth.transferOf(key) !== undefined)
    if (charged.length > 1) return { invariant: "one-price", words: `${one.name} is charged ${charged.length} times` }
  }
  for (const transfer of chain.truth.transfers()) {
    const record = known.find(({ authorization }) => chain.keyOf(authorization) === transfer.key)
    if (RecordWatch.isForNothing(transfer, record)) continue
    if (record === undefined || !Settlement.isSettled(record.status)) {
      const words = `the chain holds a transfer of ${transfer.key}, and its record is ${record?.status ?? "not there"}`
      return { invariant: "books-balance", words }
    }
  }
  for (const { authorization, paymentId, status } of known) {
    if (!Settlement.isSettled(status) || chain.truth.transferOf(chain.keyOf(authorization)) !== undefined) continue
    return {
      invariant: "books-balance",
      words: `${paymentId.slice(0, 10)} is ${status}, and the chain holds no transfer`
    }
  }
  for (const { paymentId, state } of runs) {
    const record = known.find((one) => one.paymentId === paymentId)
    if (state !== "delivered" || (record !== undefined && Settlement.isSettled(record.status))) continue
    if (record !== undefined && isTakenBack(world, record)) continue
    return {
      invariant: "content-for-money",
      words: `${paymentId.slice(0, 10)} was served, and is ${record?.status ?? "unknown"}`
    }
  }
  return undefined
}
