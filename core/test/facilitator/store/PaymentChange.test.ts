import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import type { PaymentState } from "../../../src/protocol/Settlement.ts"
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
