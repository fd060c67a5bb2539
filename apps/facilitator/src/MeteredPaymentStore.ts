/**
 * A payment store that counts what is written to it and measures how long that takes. It adds nothing else, so the store
 * underneath keeps its promises.
 */
import { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as StoreMetrics from "./StoreMetrics.ts"

type Store = PaymentStore.PaymentStore["Service"]

/**
 * The store, counted and measured.
 *
 * @category constructors
 */
export const make = (store: Store): Store => ({ ...reads(store), ...intake(store), ...laneWork(store) })

/**
 * Counts and measures the store underneath.
 *
 * @category layers
 */
export const layer: Layer.Layer<PaymentStore.PaymentStore, never, PaymentStore.PaymentStore> = Layer.effect(
  PaymentStore.PaymentStore,
  Effect.map(PaymentStore.PaymentStore, make)
)

const { reached, timed } = StoreMetrics

const reads = (store: Store) => ({
  signals: store.signals,
  find: (...args: Parameters<Store["find"]>) => timed("find")(store.find(...args)),
  loads: (...args: Parameters<Store["loads"]>) => timed("loads")(store.loads(...args)),
  queued: (...args: Parameters<Store["queued"]>) => timed("queued")(store.queued(...args)),
  flights: (...args: Parameters<Store["flights"]>) => timed("flights")(store.flights(...args)),
  spent: (...args: Parameters<Store["spent"]>) => timed("spent")(store.spent(...args)),
  page: (...args: Parameters<Store["page"]>) => timed("page")(store.page(...args)),
  takeNotices: (...args: Parameters<Store["takeNotices"]>) => timed("takeNotices")(store.takeNotices(...args)),
  closeNotice: (...args: Parameters<Store["closeNotice"]>) => timed("closeNotice")(store.closeNotice(...args))
})

const intake = (store: Store) => ({
  claim: (...args: Parameters<Store["claim"]>) =>
    Effect.tap(timed("claim")(store.claim(...args)), (result) =>
      result._tag === "Claimed" && result.created ? reached("accepted") : Effect.void
    ),
  queue: (...args: Parameters<Store["queue"]>) => timed("queue")(store.queue(...args)),
  finish: (...args: Parameters<Store["finish"]>) => timed("finish")(store.finish(...args)),
  oweAnswer: (...args: Parameters<Store["oweAnswer"]>) => timed("oweAnswer")(store.oweAnswer(...args)),
  expireUnwanted: (...args: Parameters<Store["expireUnwanted"]>) =>
    Effect.tap(timed("expireUnwanted")(store.expireUnwanted(...args)), (expired) => reached("expired", expired))
})

const laneWork = (store: Store) => ({
  openLane: (...args: Parameters<Store["openLane"]>) => timed("openLane")(store.openLane(...args)),
  skipTo: (...args: Parameters<Store["skipTo"]>) => timed("skipTo")(store.skipTo(...args)),
  replace: (...args: Parameters<Store["replace"]>) => timed("replace")(store.replace(...args)),
  plan: (...args: Parameters<Store["plan"]>) =>
    Effect.tap(timed("plan")(store.plan(...args)), () =>
      reached(
        "planned",
        args[1].reduce((sum, { paymentIds }) => sum + paymentIds.length, 0)
      )
    ),
  enter: (...args: Parameters<Store["enter"]>) =>
    Effect.tap(timed("enter")(store.enter(...args)), (changed) =>
      Effect.forEach(args[1].advances, ({ to }, index) => (changed[index] === undefined ? Effect.void : reached(to)), {
        discard: true
      })
    )
})
