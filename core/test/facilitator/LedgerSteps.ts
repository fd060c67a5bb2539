/** Steps and readings that several tests of settlements share: how one is begun, what was sent, how a payment ended. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { Facilitator, PaymentRequest } from "../../src/facilitator/Facilitator.ts"
import type { PaymentFailure } from "../../src/protocol/PaymentFailure.ts"
import { openPayload } from "../../src/protocol/PaymentPayload.ts"
import type { Payload } from "../../src/testing/ledger/LedgerScheme.ts"
import type { TestLedger } from "../../src/testing/ledger/TestLedger.ts"

/** Callers wait longer than anything here takes. */
export const patient = { settleTimeoutMillis: 600_000 }

/** Starts a settlement, and returns its fiber after this number of seconds. */
export const begin = Effect.fnUntraced(function* <A, E>(
  settle: Effect.Effect<A, E>,
  seconds = 1
): Effect.fn.Return<Fiber.Fiber<A, E>> {
  const fiber = yield* Effect.forkDetach(settle)
  yield* TestClock.adjust(`${seconds} seconds`)
  return fiber
})

/** The transactions that were submitted; one that was sent again counts once. */
export const idsOf = ({ submissions }: TestLedger) => new Set(submissions.map(({ id }) => id))

/** The slots of the submitted transactions. */
export const slotsOf = ({ submissions }: TestLedger) => new Set(submissions.map(({ slot }) => slot))

/** The statuses that a payment has had, in order. */
export const statusesOf = Effect.fnUntraced(function* (facilitator: Facilitator["Service"], paymentId: string) {
  return (yield* facilitator.payment(paymentId))?.history.map(({ status }) => status)
})

/** A third party submits a payment's signed order. */
export const sentByAnother = Effect.fnUntraced(function* (ledger: TestLedger, request: PaymentRequest) {
  const payload = yield* Effect.fromResult(openPayload(request.paymentPayload))
  const { amount, ...order } = payload as typeof Payload.Encoded
  ledger.settleByStranger({ ...order, amount: BigInt(amount) })
})

/** The name of a failure: its code, its reason, or its tag. */
export const wordOf = (failure: PaymentFailure): string => {
  if (failure._tag === "PaymentError") return failure.code
  return failure._tag === "ValidationError" ? failure.reason : failure._tag
}
