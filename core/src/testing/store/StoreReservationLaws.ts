/**
 * The laws about balances: pending payments reserve their part of their payer's balance, so that no two of them count
 * on the same money.
 */
import * as Effect from "effect/Effect"

import { leaseMillis } from "../../facilitator/store/Execution.ts"
import type * as PaymentStore from "../../facilitator/store/PaymentStore.ts"
import { same, succeeds } from "../Law.ts"
import {
  change,
  claimed,
  executionIs,
  firstNumber,
  law,
  moved,
  newClaim,
  newLane,
  newPayment,
  opened,
  planOf,
  type StoreLaw,
  taken
} from "./PaymentStoreTrial.ts"

const overdrawn = (reserved: bigint) => ({ _tag: "Overdrawn", reserved })

const pendingReserve = law(
  "pending and claimed payments reserve their part of the balance; nothing is written for one that does not fit",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, paymentId, stored } = yield* taken(store, { amount: 60n })
    const { payer } = stored.authorization
    const second = yield* newPayment({ payer, amount: 50n })
    const wish = yield* newClaim()
    yield* same("not knowing the balance", yield* store.claim(second, wish), overdrawn(60n))
    yield* same("with too little", yield* store.claim(second, wish, { available: 109n }), overdrawn(60n))
    yield* same("the record", yield* store.find(second.paymentId), undefined)
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "served")
    yield* claimed(store, second, wish)
  })
)

const coveredFits = law(
  "a balance that covers everything is enough, to the last unit",
  Effect.fnUntraced(function* (store) {
    const { stored } = yield* taken(store, { amount: 60n })
    const second = yield* newPayment({ payer: stored.authorization.payer, amount: 50n })
    yield* claimed(store, second, yield* newClaim(), { available: 110n })
  })
)

const manyFitAsCovered = law(
  "of many payments at once as many are accepted as the balance covers",
  Effect.fnUntraced(function* (store) {
    const payer = (yield* newPayment()).authorization.payer
    const payments = yield* Effect.forEach(Array.from({ length: 20 }), () => newPayment({ payer, amount: 10n }))
    const results = yield* Effect.forEach(
      payments,
      (payment) => Effect.flatMap(newClaim(), (claim) => store.claim(payment, claim, { available: 70n })),
      { concurrency: "unbounded" }
    )
    yield* same("how many fit", results.filter(({ _tag }) => _tag === "Claimed").length, 7)
  })
)

const holdsAreLetGo = law(
  "a planned payment reserves its part without a holder; its end releases it, and so does a lapsed lease",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, paymentId, stored } = yield* taken(store, { amount: 60n })
    const { payer } = stored.authorization
    const { name: lane } = yield* newLane
    yield* store.queue(paymentId, lane)
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [yield* planOf(firstNumber, [paymentId])])
    yield* store.finish(paymentId, claim.id, "notRun")
    const blocked = yield* newPayment({ payer, amount: 1n })
    yield* same("beside a planned one", yield* store.claim(blocked, yield* newClaim()), overdrawn(60n))
    yield* store.record(lease, { changes: [change(paymentId, "planned", "sent")] })
    yield* same("beside a sent one", yield* store.claim(blocked, yield* newClaim()), overdrawn(60n))
    yield* store.record(lease, { changes: [change(paymentId, "sent", "failed")] })
    yield* claimed(store, blocked, yield* newClaim())
    yield* subject.elapse(leaseMillis)
    yield* claimed(store, yield* newPayment({ payer, amount: 1n }), yield* newClaim())
  })
)

const waitingReserves = law(
  "a queued payment reserves its part without a holder, from its claim or from its queueing",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane } = yield* newLane
    const first = yield* newPayment({ amount: 60n })
    const { payer } = first.authorization
    yield* claimed(store, first, undefined, { lane })
    const second = yield* newPayment({ payer, amount: 5n })
    yield* same("beside one that waits", yield* store.claim(second, undefined), overdrawn(60n))
    yield* claimed(store, second, undefined, { available: 65n })
    const third = yield* newPayment({ payer, amount: 1n })
    yield* same(
      "the second holds nothing yet",
      yield* store.claim(third, undefined, { available: 60n }),
      overdrawn(60n)
    )
    const queue = (available?: bigint) => store.queue(second.paymentId, lane, { available })
    yield* same("not knowing the balance", yield* queue(), overdrawn(60n))
    yield* same("with too little", yield* queue(64n), overdrawn(60n))
    yield* same("the second", (yield* store.find(second.paymentId))?.lane, undefined)
    yield* same("with enough", (yield* queue(65n))._tag, "Queued")
    yield* same("the second waits", yield* store.claim(third, undefined, { available: 65n }), overdrawn(65n))
    const lease = yield* opened(store, subject, lane)
    const leaving = change(first.paymentId, "accepted", "accepted", { leave: true })
    yield* store.record(lease, { changes: [leaving] })
    yield* claimed(store, third, undefined, { available: 6n })
  })
)

const knownBeginsAnew = law(
  "a known payment is judged again when it begins to reserve: after it was given back, and after its lease has lapsed",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId, stored } = yield* taken(store, { amount: 60n })
    yield* store.finish(paymentId, claim.id, "notRun")
    const given = yield* store.find(paymentId)
    const other = yield* newPayment({ payer: stored.authorization.payer, amount: 50n })
    const wish = yield* newClaim()
    yield* claimed(store, other, wish)
    const next = yield* newClaim()
    yield* same("not knowing the balance", yield* store.claim(payment, next), overdrawn(50n))
    yield* same("with too little", yield* store.claim(payment, next, { available: 109n }), overdrawn(50n))
    yield* same("the record", yield* store.find(paymentId), given)
    yield* same("with enough", (yield* claimed(store, payment, next, { available: 110n })).execution, "granted")
    yield* subject.elapse(leaseMillis)
    yield* claimed(store, other, wish)
    yield* same("the lapsed holder itself", yield* store.claim(payment, next), overdrawn(50n))
  })
)

const manyKnownFitAsCovered = law(
  "of many known payments that are claimed again at once as many are granted as the balance covers",
  Effect.fnUntraced(function* (store) {
    const payer = (yield* newPayment()).authorization.payer
    const payments = yield* Effect.forEach(Array.from({ length: 20 }), () => newPayment({ payer, amount: 10n }))
    for (const payment of payments) {
      const claim = yield* newClaim()
      yield* claimed(store, payment, claim)
      yield* store.finish(payment.paymentId, claim.id, "notRun")
    }
    const results = yield* Effect.forEach(
      payments,
      (payment) => Effect.flatMap(newClaim(), (claim) => store.claim(payment, claim, { available: 70n })),
      { concurrency: "unbounded" }
    )
    yield* same("how many fit", results.filter(({ _tag }) => _tag === "Claimed").length, 7)
  })
)

const reservationsAreThePayersOwn = law(
  "other payers, and a known payment that reserves already, are not judged by it",
  Effect.fnUntraced(function* (store) {
    const { claim, payment, stored } = yield* taken(store, { amount: 60n })
    const beside = yield* newPayment({ payer: stored.authorization.payer, amount: 1n })
    yield* claimed(store, beside, yield* newClaim(), { available: 61n })
    yield* executionIs(store, payment, claim, "granted")
    yield* succeeds("another payer", taken(store))
  })
)

const endedSinceCounts = law(
  "payments that have ended since the balance was read count beside it: those open then, and younger ones",
  Effect.fnUntraced(function* (store, subject) {
    const first = yield* taken(store, { amount: 60n })
    const { payer } = first.stored.authorization
    const next = yield* newPayment({ payer, amount: 50n })
    const early = yield* store.openPayments(next)
    yield* same("open at first", [...early.amounts], [[first.paymentId, 60n]])
    yield* moved(store, subject, first.paymentId)
    yield* store.finish(first.paymentId, first.claim.id, "served")
    const claim = yield* newClaim()
    const claimWith = (cover: PaymentStore.Cover) => store.claim(next, claim, cover)
    yield* same("the chain asked before", yield* claimWith({ beside: early }), overdrawn(60n))
    yield* same("a balance asked before", yield* claimWith({ beside: early, available: 109n }), overdrawn(60n))
    const between = yield* store.openPayments(next)
    yield* same("open between", [...between.amounts], [])
    const young = yield* taken(store, { payer, amount: 7n })
    yield* moved(store, subject, young.paymentId)
    yield* store.finish(young.paymentId, young.claim.id, "served")
    yield* same("a younger one", yield* claimWith({ beside: between, available: 56n }), overdrawn(7n))
    yield* taken(store, { amount: 1_000n })
    yield* claimed(store, next, claim, { beside: yield* store.openPayments(next) })
  })
)

const endedSinceCountsInLanes = law(
  "payments that have ended since the balance was read count for a payment that is queued",
  Effect.fnUntraced(function* (store, subject) {
    const first = yield* taken(store, { amount: 60n })
    const { payer } = first.stored.authorization
    const { name: lane } = yield* newLane
    const second = yield* newPayment({ payer, amount: 50n })
    yield* claimed(store, second, undefined, { available: 110n })
    const beside = yield* store.openPayments(second)
    yield* moved(store, subject, first.paymentId)
    yield* store.finish(first.paymentId, first.claim.id, "served")
    const queue = (cover: PaymentStore.Cover) => store.queue(second.paymentId, lane, cover)
    yield* same("a balance asked before", yield* queue({ beside, available: 109n }), overdrawn(60n))
    yield* same("one that covers both", (yield* queue({ beside, available: 110n }))._tag, "Queued")
  })
)

/** The laws about balances. */
export const laws: ReadonlyArray<StoreLaw> = [
  pendingReserve,
  coveredFits,
  manyFitAsCovered,
  holdsAreLetGo,
  waitingReserves,
  knownBeginsAnew,
  manyKnownFitAsCovered,
  endedSinceCounts,
  endedSinceCountsInLanes,
  reservationsAreThePayersOwn
]
