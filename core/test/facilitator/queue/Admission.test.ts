/** Lanes that are asked for more than they can land, on a ledger whose blocks come once a second. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { Settled } from "../../../src/facilitator/Facilitator.ts"
import type { PaymentFailure } from "../../../src/protocol/PaymentFailure.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, pay } = LedgerShop

interface Purchase {
  readonly caller: string
  readonly at: number
  readonly fiber: Fiber.Fiber<{ readonly end: Exit.Exit<Settled, PaymentFailure>; readonly at: number }>
}

/** A shop whose signer has at most this number of pending transactions, so that as many are included a second. */
const open = Effect.fnUntraced(function* (capacity: number, options: LedgerShop.Options = {}) {
  const shop = yield* LedgerShop.open({ capacity, settleTimeoutMillis: 600_000, balance: 10n ** 12n, ...options })
  shop.ledger.faults.holdBlocks = true
  const purchases: Array<Purchase> = []
  const buy = Effect.fnUntraced(function* (caller: string, validFor: number) {
    const at = yield* Clock.currentTimeMillis
    const settling = shop.facilitator.settle(yield* pay({ validFor }), claim(`${caller}${purchases.length}`))
    const timed = Effect.flatMap(Effect.exit(LedgerShop.as(caller, settling)), (end) =>
      Effect.map(Clock.currentTimeMillis, (now) => ({ end, at: now }))
    )
    purchases.push({ caller, at, fiber: yield* Effect.forkDetach(timed) })
  })
  /** Buys at this rate a second, for these callers and seconds; a block ends each second. */
  const load = Effect.fnUntraced(function* (
    seconds: number,
    perSecond: Readonly<Record<string, number>>,
    { blocks = true, validFor = 30 } = {}
  ) {
    for (let second = 0; second < seconds; second++) {
      for (const [caller, count] of Object.entries(perSecond)) {
        for (let index = 0; index < count; index++) yield* buy(caller, validFor)
      }
      yield* TestClock.adjust("1 second")
      if (blocks) shop.ledger.mine()
    }
  })
  return { ...shop, buy, load, purchases }
})

type Loaded = Effect.Success<ReturnType<typeof open>>

/** The outcome of the purchases: those refused at once, and the ends of the others. */
const outcome = ({ purchases }: Loaded, caller?: string) => {
  const counts = { turnedAway: 0, settled: 0, expired: 0, other: 0, open: 0 }
  for (const one of purchases) {
    if (caller !== undefined && one.caller !== caller) continue
    const exit = one.fiber.pollUnsafe()
    if (exit === undefined || Exit.isFailure(exit)) {
      counts.open++
      continue
    }
    const { at, end } = exit.value
    const reason = Exit.isFailure(end) ? end.cause.reasons.find(({ _tag }) => _tag === "Fail") : undefined
    const failure = reason?._tag === "Fail" ? reason.error : undefined
    if (Exit.isSuccess(end)) counts.settled++
    else if (failure?._tag === "FacilitatorUnavailable" && failure.retryAfter !== undefined) {
      assert.strictEqual(at, one.at, "it is told at once")
      assert.isAtLeast(failure.retryAfter, 1)
      counts.turnedAway++
    } else if (failure !== undefined && hasExpired(failure)) counts.expired++
    else counts.other++
  }
  return counts
}

/** It has waited for too long, whether or not the chain proves already that it is unused. */
const hasExpired = (failure: PaymentFailure): boolean =>
  failure._tag === "PaymentError"
    ? failure.code === "EXPIRED_PAYMENT"
    : failure._tag === "FacilitatorUnavailable" && failure.message.includes("does not show yet")

/** Blocks until nothing is left to be settled. */
const runDry = ({ load }: Loaded) => load(60, {})

describe("a lane at four times what it can land", () => {
  it.effect(
    "serves what it takes before it expires, tells the rest at once when to come again, and is never idle for that",
    () =>
      Effect.gen(function* () {
        const shop = yield* open(4)
        const seconds = 90
        yield* shop.load(seconds, { shop: 16 })
        yield* runDry(shop)
        const { expired, other, open: unanswered, settled, turnedAway } = outcome(shop)
        assert.strictEqual(other + unanswered, 0)
        assert.strictEqual(settled + expired + turnedAway, 16 * seconds)
        assert.isAtLeast(settled / (settled + expired), 0.95)
        assert.isAtLeast(settled, 4 * seconds * 0.95)
        assert.isAbove(turnedAway, 0)
      })
  )

  it.effect("does so in batches too, whatever the settings promise of their size", () =>
    Effect.gen(function* () {
      const shop = yield* open(2, { batches: { maximum: 50, windowMillis: 50 }, fitting: 3 })
      const seconds = 90
      yield* shop.load(seconds, { shop: 24 })
      yield* runDry(shop)
      const { expired, other, open: unanswered, settled } = outcome(shop)
      assert.strictEqual(other + unanswered, 0)
      assert.isAtLeast(settled / (settled + expired), 0.95)
      assert.isAtLeast(settled, 6 * seconds * 0.9)
    })
  )

  it.effect("would serve less than half of it if waiting payments were not counted", () =>
    Effect.gen(function* () {
      const shop = yield* open(4, { store: (store) => ({ ...store, waitingBy: () => Effect.succeed([]) }) })
      yield* shop.load(90, { shop: 16 })
      yield* runDry(shop)
      const { expired, settled, turnedAway } = outcome(shop)
      assert.strictEqual(turnedAway, 0)
      assert.isAbove(expired, settled)
    })
  )

  it.effect("refuses no payment whose turn comes: a caller with many payments does not delay one with few", () =>
    Effect.gen(function* () {
      const shop = yield* open(4)
      yield* shop.load(60, { greedy: 20, modest: 1 })
      yield* runDry(shop)
      assert.deepStrictEqual(outcome(shop, "modest"), { turnedAway: 0, settled: 60, expired: 0, other: 0, open: 0 })
      assert.isAbove(outcome(shop, "greedy").turnedAway, 0)
    })
  )
})

describe("a flood of payments that are none", () => {
  it.effect("refuses no payment: an unverified one does not count", () =>
    Effect.gen(function* () {
      const shop = yield* open(4)
      yield* shop.load(3, { shop: 8 })
      for (let index = 0; index < 300; index++) {
        const request = yield* pay({ payer: `acct-nobody-${index}`, validFor: 30 })
        const settling = LedgerShop.as("honest", shop.facilitator.settle(request, claim(`none${index}`)))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(settling)))
      }
      yield* shop.load(1, { honest: 4 })
      yield* runDry(shop)
      assert.deepStrictEqual(outcome(shop, "honest"), { turnedAway: 0, settled: 4, expired: 0, other: 0, open: 0 })
    })
  )
})

describe("a lane of which nothing is known", () => {
  it.effect("takes a crowd, and what it can serve of it", () =>
    Effect.gen(function* () {
      const shop = yield* open(4)
      yield* shop.load(1, { shop: 30 })
      yield* runDry(shop)
      assert.deepStrictEqual(outcome(shop), { turnedAway: 0, settled: 30, expired: 0, other: 0, open: 0 })
    })
  )
})

describe("a chain that stands still", () => {
  it.effect("is noticed by what is under way; when it moves again payments are taken as before", () =>
    Effect.gen(function* () {
      const shop = yield* open(4)
      yield* shop.load(10, { shop: 4 })
      yield* runDry(shop)
      yield* shop.load(30, { halted: 4 }, { blocks: false, validFor: 60 })
      const halted = outcome(shop, "halted")
      assert.isAbove(halted.turnedAway, 0)
      assert.isBelow(halted.turnedAway, 120)
      yield* runDry(shop)
      yield* shop.load(20, { later: 3 })
      yield* runDry(shop)
      assert.deepStrictEqual(outcome(shop, "later"), { turnedAway: 0, settled: 60, expired: 0, other: 0, open: 0 })
    })
  )
})

/** Buys one by one at this rate, for this caller and seconds; a block ends every half second, or none does. */
const trickle = Effect.fnUntraced(function* (
  { buy, ledger }: Loaded,
  caller: string,
  { blocks = true, millis, perSecond }: { blocks?: boolean; millis: number; perSecond: number }
) {
  for (let past = 0; past < millis; past += 1000 / perSecond) {
    yield* buy(caller, 60)
    yield* TestClock.adjust(1000 / perSecond)
    if (blocks && past % 500 === 0) ledger.mine()
  }
})

describe("a lane that pauses", () => {
  const none = { turnedAway: 0, expired: 0, other: 0, open: 0 }

  it.effect("turns nobody away whom its next batches serve: they take more than the few who wait first", () =>
    Effect.gen(function* () {
      const shop = yield* open(2, { batches: { maximum: 50, windowMillis: 50 } })
      yield* trickle(shop, "before", { millis: 15_000, perSecond: 40 })
      yield* trickle(shop, "paused", { millis: 4_000, perSecond: 40, blocks: false })
      yield* runDry(shop)
      assert.deepStrictEqual(outcome(shop, "before"), { ...none, settled: 600 })
      assert.deepStrictEqual(outcome(shop, "paused"), { ...none, settled: 160 })
    })
  )

  it.effect("does so too where each payment has its own transaction, and a block includes many", () =>
    Effect.gen(function* () {
      const shop = yield* open(16)
      yield* trickle(shop, "before", { millis: 15_000, perSecond: 20 })
      yield* trickle(shop, "paused", { millis: 4_000, perSecond: 20, blocks: false })
      yield* runDry(shop)
      assert.deepStrictEqual(outcome(shop, "before"), { ...none, settled: 300 })
      assert.deepStrictEqual(outcome(shop, "paused"), { ...none, settled: 80 })
    })
  )
})

describe("a payment whose time is up", () => {
  it.effect("is refused for that, however long the queue is", () =>
    Effect.gen(function* () {
      const shop = yield* open(2)
      yield* shop.load(5, { shop: 40 })
      const request = yield* pay({ validFor: 3 })
      const error = yield* Effect.flip(shop.facilitator.settle(request, claim("late")))
      assert.deepInclude(error, { _tag: "PaymentError", code: "EXPIRED_PAYMENT" })
    })
  )
})
