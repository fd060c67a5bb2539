import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { Facilitator, type Settled } from "../../src/facilitator/Facilitator.ts"
import * as X402Facilitator from "../../src/facilitator/x402/X402Facilitator.ts"
import type { PaymentFailure } from "../../src/protocol/PaymentFailure.ts"
/** A seller on a facilitator that speaks x402 alone: what the tests of `X402Facilitator` start from. */
import type { SchemeServer } from "../../src/scheme/SchemeServer.ts"
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as TestLedger from "../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import { amount, payer, start } from "./LedgerShop.ts"
import * as X402FacilitatorStub from "./X402FacilitatorStub.ts"

export const schemeServer = TestScheme.server(TestLedger.make())

/** The service over a stub of its own; the clock stands at `start`. */
export const open = Effect.fnUntraced(function* ({
  schemes = [schemeServer],
  ...options
}: Partial<X402Facilitator.Options> & { readonly schemes?: ReadonlyArray<SchemeServer> } = {}) {
  yield* TestClock.setTime(start)
  const stub = yield* X402FacilitatorStub.make()
  const context = yield* Layer.build(
    Layer.provide(X402Facilitator.layer({ url: stub.url, ...options }), ServerSchemeRegistry.layer(schemes))
  )
  return { stub, facilitator: yield* Effect.provide(Facilitator, context) }
})

/** The failure of what must not succeed. */
export const failureOf = <A>(effect: Effect.Effect<A, PaymentFailure>) =>
  Effect.map(Effect.result(effect), (result) => {
    assert.isTrue(Result.isFailure(result), `it succeeded: ${JSON.stringify(result)}`)
    return Result.getOrThrow(Result.flip(result))
  })

/** Time goes on while something is waited for. */
export const inTime = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* TestClock.adjust("500 millis")
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    }
    return yield* Fiber.join(fiber)
  })

/** The response for a payment that was settled now. */
export const settled: Partial<Settled> = {
  status: "included",
  execution: "granted",
  payer,
  amount: `${amount}`,
  network: "ledger:test"
}
