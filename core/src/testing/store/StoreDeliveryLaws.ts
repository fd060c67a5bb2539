/** The laws about deliveries: which payments are to be delivered, what is recorded of each, and how long it is kept. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Settled } from "../../facilitator/Facilitator.ts"
import * as Delivery from "../../facilitator/store/Delivery.ts"
import { LaneName } from "../../facilitator/store/PaymentStore.ts"
import * as Network from "../../protocol/Network.ts"
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
  type StoreSubject,
  type Wish
} from "./PaymentStoreTrial.ts"

const far = "ledger:far"

/** The end of a payment there: amounts larger than any number of JavaScript. */
const arriving = { amount: 2n ** 90n, asked: 2n ** 89n + 1n }

/** A payment that goes on to another network, in a lane of its own network. */
const departing = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, wish: Wish = {}, network?: string) {
  const near = Network.make(network ?? `ledger:${yield* newName}`)
  const plain = yield* newPayment(wish)
  const payment = {
    ...plain,
    requirements: { ...plain.requirements, network: near },
    authorization: { ...plain.authorization, arrival: arriving },
    delivery: Delivery.begin(far)
  }
  const { paymentId } = payment
  const lane = LaneName(near, yield* newName)
  const claim = yield* newClaim()
  yield* claimed(store, payment, claim, { lane })
  const lease = yield* opened(store, subject, lane)
  const plan = yield* planOf(firstNumber, [paymentId])
  yield* store.plan(lease, [plan])
  const { block, transaction } = inclusionOf(plan.prepared)
  const step = (from: Settled["status"], to: Settled["status"]) =>
    store.record(lease, {
      changes: [change(paymentId, from, to, to === "included" ? { transaction, block } : {})]
    })
  return {
    paymentId,
    near,
    claim,
    step,
    close: store.record(lease, { changes: [], transaction: { number: firstNumber, closed: true } })
  }
})

const arrival = (transaction = "far-transaction"): Delivery.Arrival => ({
  transaction,
  block: { number: 2n ** 61n, hash: "0xfar" },
  amount: 2n ** 90n
})

const delivered = (final: boolean, transaction?: string): Delivery.DeliveryReport => ({
  _tag: "Delivered",
  arrival: arrival(transaction),
  final
})

const undelivered = (
  status: "pending" | "stuck",
  detail: string,
  push?: Delivery.PushRecord
): Delivery.DeliveryReport => ({ _tag: "Undelivered", status, detail, ...(push && { push }) })

const idsOf = (store: Store, network: string, limit = 100, after = -1n) =>
  Effect.map(store.undelivered(network, limit, after), (found) => found.map(({ paymentId }) => paymentId))

const departsOnce = law(
  "a payment is to be delivered from the move of its money to the final block of its delivery, on its own network alone",
  Effect.fnUntraced(function* (store, subject) {
    const { near, paymentId, step } = yield* departing(store, subject)
    const other = yield* departing(store, subject, {}, near)
    yield* same("before it has moved", yield* idsOf(store, near), [])
    yield* step("planned", "included")
    yield* other.step("planned", "included")
    yield* same("once it has moved", yield* idsOf(store, near), [paymentId, other.paymentId])
    yield* same("on another network", yield* idsOf(store, `${near}x`), [])
    const [first] = yield* store.undelivered(near, 1, -1n)
    yield* same("a page", first?.paymentId, paymentId)
    yield* same("the next page", yield* idsOf(store, near, 1, first?.serial), [other.paymentId])
    yield* step("included", "sent")
    yield* same("while a reorganisation has it", yield* idsOf(store, near), [other.paymentId])
    yield* step("sent", "included")
    yield* step("included", "final")
    yield* store.deliver(paymentId, delivered(false))
    yield* same("before it is final", yield* idsOf(store, near), [paymentId, other.paymentId])
    yield* store.deliver(paymentId, delivered(true))
    yield* same("once it is final", yield* idsOf(store, near), [other.paymentId])
    yield* other.step("included", "failed")
    yield* same("once it has failed", yield* idsOf(store, near), [])
  })
)

const reportsAreKept = law(
  "a delivery is recorded as it was reported, is taken back by a later report, and never changes once it is final",
  Effect.fnUntraced(function* (store, subject) {
    const { near, paymentId, step } = yield* departing(store, subject)
    yield* step("planned", "included")
    const kept = Effect.fnUntraced(function* (what: string, expected: Delivery.Delivery) {
      const found = yield* store.find(paymentId)
      yield* same(what, found?.delivery, expected)
      yield* same(
        `${what}, in the page`,
        (yield* store.undelivered(near, 1, -1n))[0]?.delivery,
        expected.final ? undefined : expected
      )
    })
    const begun = Delivery.begin(far)
    yield* same("what arrives", (yield* store.find(paymentId))?.authorization.arrival, arriving)
    yield* kept("a new delivery", begun)
    const push = { paymentId: "pay_push", attempt: 2 }
    yield* store.deliver(paymentId, undelivered("stuck", `it says "no"`, push))
    yield* kept("a push", { ...begun, status: "stuck", detail: `it says "no"`, push })
    yield* subject.elapse(1_000)
    const at = yield* Clock.currentTimeMillis
    const answer = yield* store.deliver(paymentId, delivered(false))
    const shown = { ...begun, status: "delivered", push, arrival: arrival(), deliveredAt: at } as const
    yield* same("the answer", answer?.delivery, shown)
    yield* kept("a delivery", shown)
    yield* subject.elapse(1_000)
    yield* store.deliver(paymentId, undelivered("pending", "its block is gone"))
    yield* kept("a delivery that was taken back", {
      ...shown,
      status: "pending",
      arrival: undefined,
      detail: "its block is gone"
    })
    yield* store.deliver(paymentId, delivered(true, "another"))
    yield* kept("a final one", { ...shown, arrival: arrival("another"), final: true })
    yield* store.deliver(paymentId, undelivered("stuck", "too late"))
    yield* kept("a final one, after a late report", { ...shown, arrival: arrival("another"), final: true })
    yield* same("an unknown payment", yield* store.deliver("pay_unknown", delivered(true)), undefined)
  })
)

/** A push that is kept, with its bytes. */
const kept = (name: string, attempt: number): Delivery.PushRecord => ({
  paymentId: name,
  attempt,
  ...(attempt > 1 && { unsent: attempt - 1 }),
  kept: {
    requirements: {
      scheme: "exact",
      network: Network.make(far),
      maxAmountRequired: "7",
      resource: "urn:far",
      payTo: "to",
      extra: { one: [1, "two", null] }
    },
    payload: { from: name, bytes: `0x"${name}"`, deep: [{ amount: "1" }] }
  }
})

/** The report about a push whose bytes are on record: it has none. */
const withoutBytes = (push: Delivery.PushRecord): Delivery.PushRecord => {
  const { kept: _, ...rest } = push
  return rest
}

const keepsOnePush = law(
  "of pushes that are kept, each number is recorded once, in order, with its bytes, and none while the delivery has arrived",
  Effect.fnUntraced(function* (store, subject) {
    const { near, paymentId, step } = yield* departing(store, subject)
    yield* step("planned", "included")
    const report = (push: Delivery.PushRecord) => store.deliver(paymentId, undelivered("pending", "recorded", push))
    const last = Effect.map(store.find(paymentId), (found) => found?.delivery?.push)
    yield* report(kept("pay_second", 2))
    yield* same("the second before the first", yield* last, undefined)
    const rivals = Array.from({ length: 8 }, (_, index) => kept(`pay_${index}`, 1))
    const answers = yield* Effect.forEach(rivals, report, { concurrency: "unbounded" })
    const first = yield* last
    const winner = rivals.find((one) => one.paymentId === first?.paymentId)
    yield* same("the first of many, with its bytes", first, winner)
    const told = answers.map((one) => one?.delivery?.push)
    yield* same(
      "what each is told",
      told,
      Array.from(rivals, () => winner)
    )
    yield* same("in the page", (yield* store.undelivered(near, 1, -1n))[0]?.delivery?.push, winner)
    yield* store.deliver(paymentId, undelivered("stuck", "it waits"))
    yield* same("after another report", yield* last, winner)
    yield* report(kept("pay_third", 3))
    yield* same("the third before the second", yield* last, winner)
    const loser = rivals.find((one) => one.paymentId !== first?.paymentId)
    if (winner === undefined || loser === undefined) return
    yield* report(withoutBytes(loser))
    yield* same("after a report of another first one", yield* last, winner)
    yield* store.deliver(paymentId, undelivered("stuck", "the first is made", withoutBytes(winner)))
    yield* same("the first, after its report without bytes", yield* last, winner)
    const standing = Effect.map(store.find(paymentId), (found) => found?.delivery?.detail)
    yield* same("what it is reported to be", yield* standing, "the first is made")
    yield* report(kept("pay_second", 2))
    yield* same("the second", yield* last, kept("pay_second", 2))
    yield* store.deliver(paymentId, undelivered("pending", "a late report", withoutBytes(winner)))
    yield* same("after a late report of the first", yield* last, kept("pay_second", 2))
    yield* same("which says nothing", yield* standing, "recorded")
    yield* store.deliver(paymentId, undelivered("stuck", "the second is made", withoutBytes(kept("pay_second", 2))))
    yield* same("the second, after its report without bytes", yield* last, kept("pay_second", 2))
    yield* store.deliver(paymentId, delivered(false))
    yield* report(kept("pay_third", 3))
    yield* same("the third, once it has arrived", yield* last, kept("pay_second", 2))
    yield* same("its state", (yield* store.find(paymentId))?.delivery?.status, "delivered")
  })
)

const staysPlain = law(
  "a payment that stays on its network is never to be delivered, and takes no report",
  Effect.fnUntraced(function* (store, subject) {
    const payment = yield* newPayment()
    yield* claimed(store, payment, undefined)
    const before = yield* store.find(payment.paymentId)
    yield* same("the answer", yield* store.deliver(payment.paymentId, delivered(true)), before)
    yield* same("the record", yield* store.find(payment.paymentId), before)
    yield* subject.elapse(1)
    yield* same("a delivery", before?.delivery, undefined)
    yield* same("an end elsewhere", before?.authorization.arrival, undefined)
  })
)

const isCounted = law(
  "deliveries that are not over are counted by both networks and by their state",
  Effect.fnUntraced(function* (store, subject) {
    const { near, paymentId, step } = yield* departing(store, subject)
    const second = yield* departing(store, subject, {}, near)
    const count = Effect.map(store.openDeliveries, (all) =>
      all.filter(({ from }) => from === near).map(({ count: many, status, to }) => [to, status, many])
    )
    yield* same("before the money has moved", yield* count, [])
    yield* step("planned", "included")
    yield* second.step("planned", "included")
    yield* same("two pending", yield* count, [[far, "pending", 2]])
    yield* store.deliver(paymentId, delivered(true))
    yield* store.deliver(second.paymentId, undelivered("stuck", "frozen"))
    yield* same("one stuck", yield* count, [[far, "stuck", 1]])
  })
)

const isTold = law(
  "a delivery is notified once, after the ends before it, and only to callers that want notices",
  Effect.fnUntraced(function* (store, subject) {
    const caller = yield* newName
    const { paymentId, step } = yield* departing(store, subject, { caller, notify: true })
    const quiet = yield* departing(store, subject, { caller })
    const take = store.takeNotices(new Map([[caller, 10]]), 60_000)
    const told = Effect.fnUntraced(function* () {
      const notices = yield* take
      for (const { id } of notices) yield* store.closeNotice(id)
      return notices.map(({ payment, status }) => [payment.paymentId, status])
    })
    yield* step("planned", "included")
    yield* quiet.step("planned", "included")
    yield* store.deliver(paymentId, undelivered("stuck", "frozen"))
    yield* store.deliver(paymentId, delivered(false))
    yield* store.deliver(quiet.paymentId, delivered(true))
    yield* same("the inclusion", yield* told(), [[paymentId, "included"]])
    yield* subject.elapse(20_000)
    yield* same("the delivery", yield* told(), [[paymentId, "delivered"]])
    yield* store.deliver(paymentId, undelivered("pending", "its block is gone"))
    yield* store.deliver(paymentId, delivered(true, "again"))
    yield* subject.elapse(20_000)
    yield* same("the same delivery again", yield* told(), [])
  })
)

const isRemembered = law(
  "a payment whose delivery is not over is not forgotten",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, close, paymentId, step } = yield* departing(store, subject)
    yield* step("planned", "included")
    yield* step("included", "final")
    yield* close
    yield* store.finish(paymentId, claim.id, "served")
    // The newest record may stay in any case.
    yield* claimed(store, yield* newPayment(), undefined)
    const serial = (yield* store.find(paymentId))?.serial ?? 0n
    yield* subject.elapse(7_200_000)
    yield* store.forget(3_600_000, serial - 1n, 1)
    yield* same("while it is on its way", (yield* store.find(paymentId))?.paymentId, paymentId)
    yield* store.deliver(paymentId, delivered(true))
    yield* subject.elapse(3_600_000)
    yield* store.forget(3_600_000, serial - 1n, 1)
    yield* same("right after its delivery", (yield* store.find(paymentId))?.paymentId, paymentId)
    yield* subject.elapse(1)
    yield* store.forget(3_600_000, serial - 1n, 1)
    yield* same("an hour after its delivery", yield* store.find(paymentId), undefined)
  })
)

/** The laws. */
export const laws: ReadonlyArray<StoreLaw> = [
  departsOnce,
  reportsAreKept,
  keepsOnePush,
  staysPlain,
  isCounted,
  isTold,
  isRemembered
]
