/**
 * The laws about operators' own stocks: no two payments draw the same money, the limit of a pair holds for 24 hours, and a draw ends
 * with its payment or with its final delivery.
 */
import * as Effect from "effect/Effect"

import * as Delivery from "../../facilitator/store/Delivery.ts"
import { LaneName } from "../../facilitator/store/PaymentStore.ts"
import { same } from "../Law.ts"
import {
  change,
  claimed,
  firstNumber,
  inclusionOf,
  law,
  newClaim,
  newName,
  newPayment,
  opened,
  planOf,
  type Store,
  type StoreLaw,
  type StoreSubject
} from "./PaymentStoreTrial.ts"

const far = "ledger:far"
const dayMillis = 86_400_000
const plenty = 2n ** 96n

/** A new payment that draws on a stock. */
const drawing = Effect.fnUntraced(function* (stock: string, amount: bigint, pair = "pair") {
  const plain = yield* newPayment({ validFor: 200_000 })
  return { ...plain, delivery: Delivery.begin(far, { stock, pair, amount }) }
})

/** A claim with this balance and limit; the balance was read now. */
const draw = Effect.fnUntraced(function* (
  store: Store,
  payment: Effect.Success<ReturnType<typeof drawing>>,
  balance: bigint,
  perDay = plenty
) {
  const readAt = yield* store.now
  const { _tag, ...result } = yield* store.claim(payment, yield* newClaim(), { stock: { balance, perDay, readAt } })
  return _tag === "Unstocked" && "left" in result ? `${result.limit} ${result.left}` : _tag
})

const drawsOnce = law(
  "open draws reserve their part of a stock, to the last unit, and nothing is written for one that does not fit",
  Effect.fnUntraced(function* (store) {
    const stock = yield* newName
    const first = yield* drawing(stock, 60n)
    yield* same("a draw that fits", yield* draw(store, first, 60n), "Claimed")
    yield* same("its record", (yield* store.find(first.paymentId))?.delivery?.draw?.amount, 60n)
    const second = yield* drawing(stock, 50n)
    yield* same("one too many", yield* draw(store, second, 109n), "balance 49")
    yield* same("its record", yield* store.find(second.paymentId), undefined)
    yield* same("another stock", yield* draw(store, yield* drawing(yield* newName, 50n), 50n), "Claimed")
    yield* same("with enough", yield* draw(store, second, 110n), "Claimed")
    const known = yield* store.claim(second, undefined)
    yield* same("a record that has drawn before", known._tag, "Claimed")
  })
)

const needsCover = law(
  "no record is made that draws on a stock whose balance is not known",
  Effect.fnUntraced(function* (store) {
    const payment = yield* drawing(yield* newName, 1n)
    const { _tag } = yield* store.claim(payment, yield* newClaim())
    yield* same("without a balance", _tag, "Unstocked")
    yield* same("its record", yield* store.find(payment.paymentId), undefined)
  })
)

const manyDrawAsCovered = law(
  "of many payments at once as many draw as the stock covers",
  Effect.fnUntraced(function* (store) {
    const stock = yield* newName
    const payments = yield* Effect.forEach(Array.from({ length: 20 }), () => drawing(stock, 10n))
    const results = yield* Effect.forEach(payments, (one) => draw(store, one, 70n), { concurrency: "unbounded" })
    yield* same("those that drew", results.filter((one) => one === "Claimed").length, 7)
    yield* same("the others", [...new Set(results.filter((one) => one !== "Claimed"))], ["balance 0"])
  })
)

const drawsWhileWanted = law(
  "a payment that was given back draws nothing, and is judged anew when it is claimed again or queued",
  Effect.fnUntraced(function* (store) {
    const stock = yield* newName
    const first = yield* drawing(stock, 60n)
    const claim = yield* newClaim()
    const coverOf = (balance: bigint) => Effect.map(store.now, (readAt) => ({ balance, perDay: plenty, readAt }))
    yield* claimed(store, first, claim, { stock: yield* coverOf(60n) })
    yield* store.finish(first.paymentId, claim.id, "unanswered")
    const second = yield* drawing(stock, 60n)
    yield* same("another payment, then", yield* draw(store, second, 60n), "Claimed")
    const again = Effect.fnUntraced(function* (balance?: bigint) {
      const cover = balance === undefined ? {} : { stock: yield* coverOf(balance) }
      return (yield* store.claim(first, claim, cover))._tag
    })
    yield* same("the first one again, without a balance", yield* again(), "Unstocked")
    yield* same("with too little", yield* again(119n), "Unstocked")
    const lane = yield* newName
    const queue = Effect.fnUntraced(function* (balance?: bigint) {
      const cover = balance === undefined ? {} : { stock: yield* coverOf(balance) }
      return (yield* store.queue(first.paymentId, lane, cover))._tag
    })
    yield* same("in a lane, without a balance", yield* queue(), "Unstocked")
    yield* same("with too little", yield* queue(119n), "Unstocked")
    yield* same("its lane", (yield* store.find(first.paymentId))?.lane, undefined)
    yield* same("with enough", yield* queue(120n), "Queued")
    yield* same("a third one, then", yield* draw(store, yield* drawing(stock, 1n), 120n), "balance 0")
  })
)

/** A payment that draws, in a lane of its own. */
const departing = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, stock: string, amount: bigint) {
  const payment = yield* drawing(stock, amount)
  const lane = LaneName(payment.requirements.network, yield* newName)
  const readAt = yield* store.now
  yield* claimed(store, payment, yield* newClaim(), { lane, stock: { balance: plenty, perDay: plenty, readAt } })
  const lease = yield* opened(store, subject, lane)
  const plan = yield* planOf(firstNumber, [payment.paymentId])
  yield* store.plan(lease, [plan])
  const { block, transaction } = inclusionOf(plan.prepared)
  const { paymentId } = payment
  return {
    paymentId,
    includes: store.record(lease, { changes: [change(paymentId, "planned", "included", { transaction, block })] }),
    fails: store.record(lease, { changes: [change(paymentId, "planned", "failed")] })
  }
})

const limitsByDay = law(
  "the draws of a pair have a limit for any 24 hours, which other pairs of the stock do not use up",
  Effect.fnUntraced(function* (store, subject) {
    const stock = yield* newName
    const { includes } = yield* departing(store, subject, stock, 60n)
    yield* includes
    const second = yield* drawing(stock, 50n)
    yield* same("one too many", yield* draw(store, second, plenty, 100n), "day 40")
    yield* same("of another pair", yield* draw(store, yield* drawing(stock, 50n, "other"), plenty, 100n), "Claimed")
    yield* subject.elapse(dayMillis - 1)
    yield* same("just before a day is over", yield* draw(store, second, plenty, 100n), "day 40")
    yield* subject.elapse(1)
    yield* same("a day later", yield* draw(store, second, plenty, 100n), "Claimed")
  })
)

const delivered = (final: boolean): Delivery.DeliveryReport => ({
  _tag: "Delivered",
  arrival: { transaction: "far-transaction", block: { number: 7n, hash: "0xfar" }, amount: 60n },
  final
})

const isFreed = law(
  "a draw is reserved until its delivery is final, and longer against a balance that was read before",
  Effect.fnUntraced(function* (store, subject) {
    const stock = yield* newName
    const { includes, paymentId } = yield* departing(store, subject, stock, 60n)
    yield* includes
    yield* store.deliver(paymentId, delivered(false))
    const next = yield* drawing(stock, 10n)
    yield* same("before it is final", yield* draw(store, next, 60n), "balance 0")
    const readAt = yield* store.now
    yield* subject.elapse(1)
    yield* store.deliver(paymentId, delivered(true))
    yield* subject.elapse(1)
    const early = yield* store.claim(next, yield* newClaim(), { stock: { balance: 60n, perDay: plenty, readAt } })
    yield* same("a balance from before", early._tag, "Unstocked")
    yield* same("one that lacks it", yield* draw(store, next, 10n), "Claimed")
  })
)

const failuresDrawNothing = law(
  "a payment that never moved its money draws nothing, of the stock and of the limit",
  Effect.fnUntraced(function* (store, subject) {
    const stock = yield* newName
    const { fails } = yield* departing(store, subject, stock, 60n)
    const next = yield* drawing(stock, 60n)
    yield* same("while it may move it", yield* draw(store, next, 60n, 60n), "balance 0")
    yield* fails
    yield* same("once it has failed", yield* draw(store, next, 60n, 60n), "Claimed")
  })
)

const isRemembered = law(
  "a payment that counts against a limit for 24 hours is not forgotten",
  Effect.fnUntraced(function* (store, subject) {
    const stock = yield* newName
    const plain = yield* newPayment({ validFor: 1 })
    const payment = { ...plain, delivery: Delivery.begin(far, { stock, pair: "pair", amount: 60n }) }
    const claim = yield* newClaim()
    const lane = LaneName(payment.requirements.network, yield* newName)
    const readAt = yield* store.now
    yield* claimed(store, payment, claim, { lane, stock: { balance: plenty, perDay: plenty, readAt } })
    const lease = yield* opened(store, subject, lane)
    const plan = yield* planOf(firstNumber, [payment.paymentId])
    yield* store.plan(lease, [plan])
    const { block, transaction } = inclusionOf(plan.prepared)
    const step = (from: "planned" | "included", to: "included" | "final") =>
      store.record(lease, { changes: [change(payment.paymentId, from, to, { transaction, block })] })
    yield* step("planned", "included")
    yield* step("included", "final")
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, closed: true } })
    yield* store.finish(payment.paymentId, claim.id, "served")
    yield* store.deliver(payment.paymentId, delivered(true))
    // The newest record may stay in any case.
    yield* claimed(store, yield* newPayment(), undefined)
    const serial = (yield* store.find(payment.paymentId))?.serial ?? 0n
    const forget = store.forget(60_000, serial - 1n, 1)
    yield* subject.elapse(dayMillis - 60_000)
    yield* forget
    yield* same("within the day", (yield* store.find(payment.paymentId))?.paymentId, payment.paymentId)
    yield* subject.elapse(120_000)
    yield* forget
    yield* same("after it", yield* store.find(payment.paymentId), undefined)
  })
)

/** The laws. */
export const laws: ReadonlyArray<StoreLaw> = [
  drawsOnce,
  needsCover,
  manyDrawAsCovered,
  limitsByDay,
  drawsWhileWanted,
  isFreed,
  failuresDrawNothing,
  isRemembered
]
