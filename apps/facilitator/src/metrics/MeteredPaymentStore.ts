/**
 * A payment store that counts its writes and measures their duration. It changes nothing else, so the promises of the wrapped
 * store hold.
 */
import { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as StoreMetrics from "./StoreMetrics.ts"

type Store = PaymentStore.PaymentStore["Service"]

/** The store with metrics. */
export const make = (store: Store): Store => ({ ...reads(store), ...intake(store), ...laneWork(store) })

/** Adds metrics to the store of the context. */
export const layer: Layer.Layer<PaymentStore.PaymentStore, never, PaymentStore.PaymentStore> = Layer.effect(
  PaymentStore.PaymentStore,
  Effect.map(PaymentStore.PaymentStore, make)
)

const { paid, reached } = StoreMetrics

/** Counts payments by the state that each has reached. */
const reachedBy = (states: ReadonlyArray<PaymentStore.StateChange["to"]>): Effect.Effect<void> => {
  const counts = new Map<PaymentStore.StateChange["to"], number>()
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1)
  return Effect.forEach(counts, ([state, count]) => reached(state, count), { discard: true })
}

const timed = <Args extends ReadonlyArray<unknown>, A, E extends { readonly _tag: string }>(
  method: string,
  call: (...args: Args) => Effect.Effect<A, E>
) => {
  const measure = StoreMetrics.timed(method)
  return (...args: Args): Effect.Effect<A, E> => measure(call(...args))
}

const reads = (store: Store) => ({
  signals: store.signals,
  now: store.now,
  find: timed("find", store.find),
  openPayments: timed("openPayments", store.openPayments),
  loads: timed("loads", store.loads),
  queued: timed("queued", store.queued),
  queuedInTurn: timed("queuedInTurn", store.queuedInTurn),
  lanesInUse: StoreMetrics.timed("lanesInUse")(store.lanesInUse),
  waitingBy: timed("waitingBy", store.waitingBy),
  openTransactions: timed("openTransactions", store.openTransactions),
  spent: timed("spent", store.spent),
  books: timed("books", store.books),
  page: timed("page", store.page),
  unwanted: timed("unwanted", store.unwanted),
  takeNotices: timed("takeNotices", store.takeNotices),
  closeNotice: timed("closeNotice", store.closeNotice),
  giveUpNotices: timed("giveUpNotices", store.giveUpNotices),
  forget: timed("forget", store.forget),
  undelivered: timed("undelivered", store.undelivered),
  deliver: timed("deliver", store.deliver),
  openDeliveries: StoreMetrics.timed("openDeliveries")(store.openDeliveries),
  noticeBacklog: StoreMetrics.timed("noticeBacklog")(store.noticeBacklog),
  probe: StoreMetrics.timed("probe")(store.probe)
})

const intake = (store: Store) => {
  const claim = timed("claim", store.claim)
  const endUnwanted = timed("endUnwanted", store.endUnwanted)
  return {
    claim: (...args: Parameters<Store["claim"]>) =>
      Effect.tap(claim(...args), (result) =>
        result._tag === "Claimed" && result.created
          ? Effect.andThen(reached("accepted"), paid(result.payment, "accepted"))
          : Effect.void
      ),
    queue: timed("queue", store.queue),
    finish: timed("finish", store.finish),
    takeAnswer: timed("takeAnswer", store.takeAnswer),
    returnAnswer: timed("returnAnswer", store.returnAnswer),
    endUnwanted: (...args: Parameters<Store["endUnwanted"]>) =>
      Effect.tap(endUnwanted(...args), (ended) =>
        Effect.andThen(
          reachedBy(ended.map(({ status }) => status)),
          Effect.forEach(ended, (payment) => paid(payment, payment.status), { discard: true })
        )
      )
  }
}

const laneWork = (store: Store) => {
  const plan = timed("plan", store.plan)
  const record = timed("record", store.record)
  return {
    openLane: timed("openLane", store.openLane),
    skipTo: timed("skipTo", store.skipTo),
    fillGap: timed("fillGap", store.fillGap),
    replace: timed("replace", store.replace),
    plan: (...args: Parameters<Store["plan"]>) =>
      Effect.tap(plan(...args), (refused) =>
        refused === undefined
          ? reached(
              "planned",
              args[1].reduce((sum, { paymentIds }) => sum + paymentIds.length, 0)
            )
          : Effect.void
      ),
    record: (...args: Parameters<Store["record"]>) =>
      Effect.tap(record(...args), (changed) => {
        const moved = args[1].changes.flatMap(({ to }, index) => {
          const payment = changed[index]
          return payment === undefined ? [] : [{ payment, to }]
        })
        return Effect.andThen(
          reachedBy(moved.map(({ to }) => to)),
          Effect.forEach(moved, ({ payment, to }) => paid(payment, to), { discard: true })
        )
      })
  }
}
