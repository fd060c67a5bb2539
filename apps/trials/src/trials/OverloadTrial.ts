/**
 * Overload: payments arrive at four times the rate that a signer can include. The facilitator serves the payments that it takes
 * before they expire; it refuses the rest at once, with a time to retry.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

import type { PaymentStory } from "../audit/PaymentStory.ts"
import * as PaymentStories from "../audit/PaymentStory.ts"
import type { CallerOutcome } from "../audit/TrialJournal.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import * as TrialPayment from "../world/TrialPayment.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

/** Default duration, in seconds. */
const usualSeconds = 120
/** Pending transactions of one signer without batches: as many are included in a block. */
const placesPerBlock = 16
const timesTooMany = 4
/** Seconds. */
const blockTime = 1
const validSeconds = 60
/** Share of the taken payments that has to be served before expiry. */
const leastServed = 0.95
/** Milliseconds within which nearly all that are turned away have to hear so, on a machine that does everything at once. */
const atOnceMillis = 2_000
/** Milliseconds between two looks at a payment whose outcome is not known. */
const pauseMillis = 1_000

/** Runs the trial; its size counts the seconds. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const seconds = options.size ?? usualSeconds
  const perSecond = (timesTooMany * placesPerBlock) / blockTime
  const world = yield* TrialWorld.make(options, { blockTime, signers: 1, payers: 100 })
  const facilitator = yield* world.facilitator({ settleTimeoutMillis: 25_000 })
  yield* facilitator.listening
  yield* Effect.scoped(crowd(world, facilitator.url, seconds * perSecond, 1_000 / perSecond))
  const { findings, millis, said } = yield* TrialWorld.audited(world, facilitator.url, {
    refusals: ["EXPIRED_PAYMENT"],
    turnsAway: true,
    patienceMillis: options.patienceMillis ?? 120_000
  })
  const stories = PaymentStories.all(said)
  const counts = countsOf(stories)
  return {
    goal: "overload",
    title: `${perSecond} payments a second for ${seconds} seconds on one signer, ${timesTooMany} times what it lands`,
    options,
    figures: { ...figuresOf(counts), "drain, seconds": Math.round(millis / 1000) },
    findings: [...brokenBy(counts), ...findings]
  }
})

/** Payments arrive one after another at this interval (milliseconds), whatever becomes of those before. */
const crowd = Effect.fnUntraced(function* (
  world: TrialWorld.TrialWorld,
  facilitator: string,
  count: number,
  interval: number
) {
  const start = yield* Clock.currentTimeMillis
  const buyers = yield* FiberSet.make()
  for (let index = 0; index < count; index++) {
    const early = start + index * interval - (yield* Clock.currentTimeMillis)
    if (early > 0) yield* Effect.sleep(early)
    yield* FiberSet.run(buyers, purchase(world, facilitator, world.random.branch(`purchase${index}`)))
  }
  yield* FiberSet.awaitEmpty(buyers)
})

/** Buys once. A buyer that is turned away leaves; one whose payment is pending asks until the outcome is known, or its time is over. */
const purchase = Effect.fnUntraced(function* (world: TrialWorld.TrialWorld, facilitator: string, luck: TrialRandom) {
  const { caller, market, payTo, payers } = world.load
  const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + validSeconds
  const terms = { payer: luck.pick(payers), payTo, amount: BigInt(luck.between(1, 10_000)), validBefore, bound: true }
  const payment = yield* Effect.promise(() => TrialPayment.sign(market, terms, luck.branch("nonce")))
  const claim = {
    id: TrialPayment.bytesOf(luck.branch("claim"), 16).toString("base64url"),
    resource: "resource".padEnd(43, "x")
  }
  for (let isFirst = true; ; isFirst = false) {
    const told = yield* caller.present("settle", facilitator, payment, claim)
    if (isDecided(told) || (isFirst && isTurnedAway(told))) return
    if ((yield* Clock.currentTimeMillis) > (validBefore + validSeconds) * 1000) return
    yield* Effect.sleep(pauseMillis)
  }
})

const isTurnedAway = (told: CallerOutcome): boolean => told._tag === "CannotTell" && told.retryAfter !== undefined

const isDecided = (told: CallerOutcome): boolean =>
  told._tag === "Verdict" && (told.success || told.refusal !== undefined || told.execution === "spent")

interface Counts {
  readonly taken: number
  readonly served: number
  /** Without a record, with a time to retry. */
  readonly turnedAway: number
  /** Without a record and without a time to retry. */
  readonly untold: number
  /** Waits of the buyers that were turned away, in milliseconds, the shortest first. */
  readonly waits: ReadonlyArray<number>
  /** From the first presentation to the first response that the money has moved. */
  readonly services: ReadonlyArray<number>
  /** Seconds from the first presentation to the last such response. */
  readonly span: number
}

const countsOf = (stories: ReadonlyArray<PaymentStory>): Counts => {
  const taken = stories.filter(({ records }) => records.length > 0)
  const services = taken.flatMap((story) => {
    const from = story.exchanges[0]?.sent.at
    const success = PaymentStories.verdicts(story, "settle").find((one) => one.success)
    return from === undefined || success === undefined ? [] : [{ from, to: success.received.at }]
  })
  const away = stories.filter(PaymentStories.isTurnedAway)
  return {
    taken: taken.length,
    served: taken.filter(({ records }) => records.some(PaymentStories.isSettled)).length,
    turnedAway: away.length,
    untold: stories.length - taken.length - away.length,
    waits: sorted(
      away.flatMap(({ exchanges }) =>
        exchanges.flatMap(({ received, sent }) => (received === undefined ? [] : [received.at - sent.at]))
      )
    ),
    services: sorted(services.map(({ from, to }) => to - from)),
    span: (Math.max(...services.map(({ to }) => to)) - Math.min(...services.map(({ from }) => from))) / 1_000
  }
}

const sorted = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  Math.round(values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0)

const figuresOf = ({ served, services, span, taken, turnedAway, waits }: Counts) => ({
  taken,
  "served of what was taken": `${((100 * served) / Math.max(1, taken)).toFixed(1)} %`,
  "served a second": (served / span).toFixed(1),
  "turned away": turnedAway,
  "told so after, ms (p50, p99)": `${quantile(waits, 0.5)}, ${quantile(waits, 0.99)}`,
  "served after, ms (p50, p99)": `${quantile(services, 0.5)}, ${quantile(services, 0.99)}`
})

const brokenBy = ({ served, taken, turnedAway, untold, waits }: Counts): ReadonlyArray<Broken> => {
  const broken: Array<Broken> = []
  if (served < leastServed * taken) {
    broken.push({ check: "expired", detail: `of ${taken} payments that were taken ${served} were served in time` })
  }
  if (untold > 0) broken.push({ check: "not-told", detail: `${untold} were not taken and got no time to retry` })
  if (turnedAway === 0)
    broken.push({ check: "no-overload", detail: "no buyer was turned away: the facilitator was never overloaded" })
  if (quantile(waits, 0.9) > atOnceMillis) {
    broken.push({ check: "late", detail: `of those turned away a tenth heard so after ${quantile(waits, 0.9)} ms` })
  }
  return broken
}
