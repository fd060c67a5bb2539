/**
 * The laws about requests that the application refused after the payment: the payment stays good for another request of the
 * same route, and for nothing else.
 */
import * as Effect from "effect/Effect"

import type { Claim, ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import { entitlementMillis, leaseMillis, maximumExecutions } from "../../facilitator/store/Execution.ts"
import { same } from "../Law.ts"
import {
  claimed,
  executionIs,
  law,
  moved,
  newClaim,
  newPayment,
  type Store,
  type StoreLaw,
  type StoreSubject
} from "./PaymentStoreTrial.ts"

const route = "route-of-all-the-reports"

const claimOf = (resource: string, of = route): Effect.Effect<Claim> =>
  Effect.map(newClaim(resource), (claim) => ({ ...claim, route: of }))

const first = "resource-number-one"
const second = "resource-number-two"

/** A settled payment whose first execution, of the first resource, has this outcome. */
const ended = Effect.fnUntraced(function* (
  store: Store,
  subject: StoreSubject,
  outcome: ExecutionOutcome,
  bound = true
) {
  const payment = yield* newPayment({ bound })
  const claim = yield* claimOf(first)
  yield* claimed(store, payment, claim)
  yield* moved(store, subject, payment.paymentId)
  yield* store.finish(payment.paymentId, claim.id, outcome)
  return { payment, paymentId: payment.paymentId, claim }
})

const refusedMoves = law(
  "a refused execution of a settled payment is granted to another resource of its route, and belongs to that one from then on",
  Effect.fnUntraced(function* (store, subject) {
    const { payment, paymentId } = yield* ended(store, subject, "refused")
    const next = yield* claimOf(second)
    yield* executionIs(store, payment, next, "granted")
    yield* executionIs(store, payment, next, "granted")
    const { execution: run } = (yield* claimed(store, payment, next)).payment
    yield* same("the run", [run.resource, run.route, run.count], [second, route, 2])
    yield* executionIs(store, payment, yield* claimOf(first), "conflict")
    yield* executionIs(store, payment, yield* claimOf(second), "held")
    yield* store.finish(paymentId, next.id, "served")
    yield* executionIs(store, payment, yield* claimOf(second), "spent")
    yield* executionIs(store, payment, yield* claimOf("resource-number-three"), "conflict")
  })
)

const refusedRepeats = law(
  "a refused execution is granted to its own resource again",
  Effect.fnUntraced(function* (store, subject) {
    const { payment } = yield* ended(store, subject, "refused")
    yield* executionIs(store, payment, yield* claimOf(first), "granted")
  })
)

const otherRouteConflicts = law(
  "a refused execution is granted to no resource of another route, or of no route",
  Effect.fnUntraced(function* (store, subject) {
    const { payment } = yield* ended(store, subject, "refused")
    yield* executionIs(store, payment, yield* claimOf(second, "route-of-the-renderings"), "conflict")
    yield* executionIs(store, payment, yield* newClaim(second), "conflict")
    yield* executionIs(store, payment, yield* claimOf(second), "granted")
  })
)

const unnamedRouteConflicts = law(
  "an execution that was claimed without a route belongs to its resource alone",
  Effect.fnUntraced(function* (store, subject) {
    const payment = yield* newPayment()
    const claim = yield* newClaim(first)
    yield* claimed(store, payment, claim)
    yield* moved(store, subject, payment.paymentId)
    yield* store.finish(payment.paymentId, claim.id, "refused")
    yield* executionIs(store, payment, yield* newClaim(second), "conflict")
    yield* executionIs(store, payment, yield* claimOf(second), "conflict")
    yield* executionIs(store, payment, yield* newClaim(first), "granted")
  })
)

const othersDoNotMove = law(
  "an execution that was served, failed, is held, or never reached the handler stays with its resource",
  Effect.fnUntraced(function* (store, subject) {
    for (const outcome of ["served", "failed", "notRun"] as const) {
      const { payment } = yield* ended(store, subject, outcome)
      yield* executionIs(store, payment, yield* claimOf(second), "conflict")
    }
    const { payment } = yield* ended(store, subject, "refused")
    yield* executionIs(store, payment, yield* claimOf(first), "granted")
    yield* executionIs(store, payment, yield* claimOf(second), "conflict")
    yield* subject.elapse(leaseMillis)
    yield* executionIs(store, payment, yield* claimOf(second), "conflict")
    yield* executionIs(store, payment, yield* claimOf(first), "granted")
  })
)

const failureEndsIt = law(
  "a refused execution that failed later is owed to the resource that failed; one that never reached the handler stays refused",
  Effect.fnUntraced(function* (store, subject) {
    const failing = yield* ended(store, subject, "refused")
    const next = yield* claimOf(second)
    yield* executionIs(store, failing.payment, next, "granted")
    yield* store.finish(failing.paymentId, next.id, "failed")
    yield* executionIs(store, failing.payment, yield* claimOf(first), "conflict")
    yield* executionIs(store, failing.payment, yield* claimOf(second), "granted")
    const cut = yield* ended(store, subject, "refused")
    const lost = yield* claimOf(second)
    yield* executionIs(store, cut.payment, lost, "granted")
    yield* store.finish(cut.paymentId, lost.id, "notRun")
    yield* executionIs(store, cut.payment, yield* claimOf("resource-number-three"), "granted")
  })
)

const refusedIsBounded = law(
  "a payment is good for five executions in all and ten minutes after the first refusal, whatever resource was requested",
  Effect.fnUntraced(function* (store, subject) {
    const { payment, paymentId } = yield* ended(store, subject, "refused")
    for (let run = 2; run <= maximumExecutions; run++) {
      const next = yield* claimOf(`resource-number-${run}`)
      yield* executionIs(store, payment, next, "granted")
      yield* store.finish(paymentId, next.id, "refused")
    }
    yield* executionIs(store, payment, yield* claimOf("resource-number-6"), "conflict")
    yield* executionIs(store, payment, yield* claimOf(`resource-number-${maximumExecutions}`), "spent")
    const late = yield* ended(store, subject, "refused")
    yield* subject.elapse(entitlementMillis - 1)
    const last = yield* claimOf(second)
    yield* executionIs(store, late.payment, last, "granted")
    yield* store.finish(late.paymentId, last.id, "refused")
    yield* subject.elapse(1)
    yield* executionIs(store, late.payment, yield* claimOf(first), "conflict")
    yield* executionIs(store, late.payment, yield* claimOf(second), "spent")
  })
)

const unboundIsSpent = law(
  "a refused execution of a settled payment that anyone could repeat is spent",
  Effect.fnUntraced(function* (store, subject) {
    const { payment } = yield* ended(store, subject, "refused", false)
    yield* executionIs(store, payment, yield* claimOf(second), "conflict")
    yield* executionIs(store, payment, yield* claimOf(first), "spent")
  })
)

const oneTakesOver = law(
  "of any number of other requests at once exactly one takes a refused execution over",
  Effect.fnUntraced(function* (store, subject) {
    const { payment } = yield* ended(store, subject, "refused")
    const rivals = yield* Effect.forEach(Array.from({ length: 20 }), (_, index) => claimOf(`resource-number-${index}x`))
    const results = yield* Effect.forEach(rivals, (claim) => claimed(store, payment, claim), {
      concurrency: "unbounded"
    })
    yield* same("how many were granted", results.filter(({ execution }) => execution === "granted").length, 1)
    yield* same("how many conflict", results.filter(({ execution }) => execution === "conflict").length, 19)
  })
)

const unsettledStays = law(
  "before the transfer a refused execution stays with its resource",
  Effect.fnUntraced(function* (store) {
    const payment = yield* newPayment()
    const claim = yield* claimOf(first)
    yield* claimed(store, payment, claim)
    yield* store.finish(payment.paymentId, claim.id, "refused")
    yield* executionIs(store, payment, yield* claimOf(second), "conflict")
    yield* executionIs(store, payment, yield* claimOf(first), "granted")
  })
)

export const laws: ReadonlyArray<StoreLaw> = [
  refusedMoves,
  refusedRepeats,
  otherRouteConflicts,
  unnamedRouteConflicts,
  othersDoNotMove,
  failureEndsIt,
  refusedIsBounded,
  unboundIsSpent,
  oneTakesOver,
  unsettledStays
]
