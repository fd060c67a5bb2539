/** The age at which a record may be deleted, at its bounds. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type * as Execution from "../../../src/facilitator/store/Execution.ts"
import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import type { StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import * as RecordAge from "../../../src/facilitator/store/RecordAge.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"

const age = 60_000
/** Seconds of the end of the validity; everything else is over before. */
const validBefore = 1_700_000_000
const over = validBefore * 1000
/** The first millisecond at which a record that is over then may go. */
const due = over + age + 1

const free: Execution.Execution = {
  resource: "report",
  route: undefined,
  holder: undefined,
  served: false,
  refused: false,
  count: 0,
  releasedAt: undefined
}
const served: Execution.Execution = { ...free, served: true, count: 1 }

const recordOf = Effect.fnUntraced(function* (fields: Partial<StoredPayment>) {
  const { stored } = yield* PaymentStoreTrial.taken(yield* MemoryPaymentStore.make)
  const { status = "final" } = fields
  const payment: StoredPayment = {
    ...stored,
    authorization: { ...stored.authorization, validBefore },
    status,
    execution: served,
    answerOwed: false,
    history: [
      { status: "accepted", at: 1000 },
      { status, at: 2000 }
    ],
    ...fields
  }
  return payment
})

const rows: ReadonlyArray<readonly [string, Partial<StoredPayment>, last: number | undefined]> = [
  ["that is final and served, once its validity is over for that time", {}, over],
  ["that failed", { status: "failed", execution: free }, over],
  ["that expired", { status: "expired", execution: free }, over],
  ["that was rejected", { status: "rejected", execution: free }, over],
  ["that changed after its validity", { history: [{ status: "final", at: over + 500 }] }, over + 500],
  ["whose execution ended after its validity", { execution: { ...served, releasedAt: over + 700 } }, over + 700],
  [
    "that failed while a claim held its execution, once the lease is over for that time",
    { status: "failed", execution: { ...free, holder: { claimId: "a", until: over + 900 } } },
    over + 900
  ],
  ["that may still be taken back", { status: "included" }, undefined],
  ["that is on its way", { status: "sent" }, undefined],
  ["that waits", { status: "accepted" }, undefined],
  ["of money that bought nothing", { execution: { ...free, count: 1, releasedAt: 2000 } }, undefined],
  ["whose response is owed", { answerOwed: true }, undefined]
]

describe("a record", () => {
  for (const [name, fields, last] of rows) {
    it.effect(`${name} ${last === undefined ? "stays" : "may go"}`, () =>
      Effect.gen(function* () {
        const record = yield* recordOf(fields)
        if (last === undefined) return assert.isFalse(RecordAge.isForgettable(record, due + 10 ** 12, age))
        assert.isFalse(RecordAge.isForgettable(record, last + age, age))
        assert.isTrue(RecordAge.isForgettable(record, last + age + 1, age))
      })
    )
  }

  it.effect("is young by its beginning, whatever changed later", () =>
    Effect.gen(function* () {
      const record = yield* recordOf({})
      assert.isTrue(RecordAge.isYoung(record, 1000 + age, age))
      assert.isFalse(RecordAge.isYoung(record, 1000 + age + 1, age))
    })
  )
})
