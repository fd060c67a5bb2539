import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import type { StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import type { PaymentState } from "../../../src/protocol/Settlement.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"

const changes: ReadonlyArray<readonly [before: PaymentState | undefined, after: PaymentState, heard: boolean]> = [
  [undefined, "accepted", false],
  ["accepted", "planned", false],
  ["planned", "sent", false],
  ["sent", "sent", true],
  ["planned", "included", true],
  ["sent", "included", true],
  ["sent", "failed", true],
  ["sent", "accepted", true],
  ["included", "final", true]
]

describe("a change of a payment's record", () => {
  it.effect.each(changes)("from %s to %s is heard of: %s", ([before, after, heard]) =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { stored } = yield* PaymentStoreTrial.taken(store)
      const known = before && { ...stored, status: before }
      assert.strictEqual(PaymentChange.isActionable(known, { ...stored, status: after }), heard)
    })
  )
})

const canceled = invalid("already_used", "canceled", "the authorization was canceled")
const inLane: Partial<StoredPayment> = { lane: "ledger:test signer-1" }
const wasSent: Partial<StoredPayment> = { ...inLane, status: "sent", since: 7n }
const putBack: Partial<StoredPayment> = {
  history: [
    { status: "accepted", at: 1 },
    { status: "accepted", at: 2, note: "the chain could not be queried" }
  ]
}

const ends: ReadonlyArray<readonly [string, isCanceled: boolean, Partial<StoredPayment>, PaymentState, string]> = [
  ["in no lane", false, {}, "expired", "never_wanted"],
  ["that has left its lane", false, putBack, "expired", "not_settled"],
  ["in a lane", false, inLane, "expired", "unused"],
  ["that was sent", false, wasSent, "expired", "unused"],
  ["in no lane", true, {}, "rejected", "canceled"],
  ["in a lane", true, inLane, "rejected", "canceled"],
  ["that was sent", true, wasSent, "failed", "canceled"]
]

describe("the end of an unused payment", () => {
  it.effect.each(ends)("%s, where the authorization was canceled: %s", ([, isCanceled, fields, state, detail]) =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { stored } = yield* PaymentStoreTrial.taken(store)
      const known = { ...stored, ...fields }
      const proof = { at: { number: 9n, hash: "0xfinal" }, ...(isCanceled && { reason: canceled }) }
      const change = PaymentChange.endUnused(known, proof)
      assert.deepInclude(change, { paymentId: stored.paymentId, from: [known.status], to: state })
      assert.strictEqual(change.refusal?.detail, detail)
      assert.strictEqual(change.note, "unused at block 9, which is final")
    })
  )
})
