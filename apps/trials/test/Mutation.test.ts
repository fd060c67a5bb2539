import { assert, describe, it } from "@effect/vitest"
import { MemoryPaymentStore, PaymentStore } from "@pontage/core"
import { PaymentStoreLaws } from "@pontage/core/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { processOptions } from "../src/attacks/SourceMutation.ts"
import { mutations } from "../src/Mutation.ts"

type Store = PaymentStore.PaymentStore["Service"]

/** Faults of a store, found by the laws that every store keeps. */
const ofStores = [
  "claim-always-granted",
  "claims-lapse",
  "answer-never-owed",
  "lease-for-ever",
  "queue-uncounted",
  "records-kept"
] as const

const subject = (): PaymentStoreLaws.StoreSubject => {
  let epoch = 0
  return {
    elapse: (millis) => TestClock.adjust(millis),
    lease: (lane) => Effect.sync(() => ({ lane, epoch: ++epoch, isValid: () => true }))
  }
}

const tryLaws = (store: Store) =>
  Effect.exit(
    Effect.provideContext(
      Effect.forEach(PaymentStoreLaws.all, ({ effect }) => effect, { discard: true }),
      Context.make(PaymentStore.PaymentStore, store).pipe(Context.add(PaymentStoreLaws.Subject, subject()))
    )
  )

describe("a mutation", () => {
  for (const name of ofStores) {
    it.effect(`${name} breaks a law of stores`, () =>
      Effect.gen(function* () {
        const store = yield* MemoryPaymentStore.make
        assert.strictEqual((yield* tryLaws(store))._tag, "Success")
        const { store: change } = mutations[name]
        const broken = change?.(yield* MemoryPaymentStore.make) ?? assert.fail("it changes no store")
        assert.strictEqual((yield* tryLaws(broken))._tag, "Failure")
      })
    )
  }

  it.each(Object.entries(mutations))("%s has its place in the sources, if it replaces any", (_, { sources }) => {
    assert.doesNotThrow(() => processOptions(sources, false))
  })
})
