import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import type { Facilitator, PaymentRequest } from "../../src/facilitator/Facilitator.ts"
import * as RetryToken from "../../src/protocol/RetryToken.ts"
import * as LedgerShop from "./LedgerShop.ts"

/** The state of a record when the payment is presented again, and whether its payer is granted an execution then. */
const states = {
  claimed: false,
  "given back before its transfer": true,
  "settled and running": false,
  "settled and failed": true,
  served: false
} as const
type State = keyof typeof states

const callers = ["shop-a", "shop-b"] as const

/** Presents the payment with another offer. */
const offering = (
  request: PaymentRequest,
  changes: Partial<PaymentRequest["paymentRequirements"]>
): PaymentRequest => ({
  ...request,
  paymentRequirements: { ...request.paymentRequirements, ...changes }
})

const withToken = (request: PaymentRequest, token: string) => offering(request, { extra: { [RetryToken.key]: token } })

/** The differences of a presentation; each alone must prevent an execution. */
const changes: Record<string, (request: PaymentRequest) => Effect.Effect<PaymentRequest, unknown>> = {
  "another payee": (request) => Effect.succeed(offering(request, { payTo: "acct-victim" })),
  "another token": (request) => Effect.succeed(offering(request, { asset: "acct-euro" })),
  "a dearer offer": (request) =>
    Effect.succeed(offering(request, { maxAmountRequired: `${LedgerShop.amount * 50_000n}` })),
  "another scheme": (request) => Effect.succeed(offering(request, { scheme: "upto" })),
  "another retry token": (request) => Effect.succeed(withToken(request, "B".repeat(22))),
  "no binding": (request) => LedgerShop.altered(request, { binding: undefined }),
  "another payer": (request) => LedgerShop.altered(request, { payer: "acct-mallory" })
}

const brought = Effect.fnUntraced(function* (
  facilitator: Facilitator["Service"],
  state: State,
  request: PaymentRequest
) {
  const first = LedgerShop.claim("first")
  const isUnpaid = state === "claimed" || state === "given back before its transfer"
  const { paymentId } = yield* isUnpaid ? facilitator.claim(request, first) : facilitator.settle(request, first)
  if (state === "given back before its transfer") yield* facilitator.finish(paymentId, first.id, "notRun")
  if (state === "settled and failed") yield* facilitator.finish(paymentId, first.id, "failed")
  if (state === "served") yield* facilitator.finish(paymentId, first.id, "served")
})

const scenario = fc.record({
  state: fc.constantFrom(...(Object.keys(states) as ReadonlyArray<State>)),
  bound: fc.boolean(),
  change: fc.option(fc.constantFrom(...Object.keys(changes)), { nil: undefined, freq: 1 }),
  caller: fc.constantFrom(...callers),
  door: fc.constantFrom("settle" as const, "claim" as const, "settle without a claim" as const, "verify" as const)
})

type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

const isChanged = ({ bound, change }: Scenario) =>
  change !== undefined && (bound ? change !== "another retry token" : change !== "no binding")

const played = Effect.fnUntraced(function* (one: Scenario) {
  const { facilitator } = yield* LedgerShop.open()
  const request = withToken(yield* LedgerShop.pay({ bound: one.bound }), "A".repeat(22))
  yield* LedgerShop.as(callers[0], brought(facilitator, one.state, request))
  const change = one.change === undefined ? undefined : changes[one.change]
  const shown = change === undefined ? request : yield* change(request)
  const ask = (): Effect.Effect<boolean, unknown> => {
    const claim = LedgerShop.claim("second")
    switch (one.door) {
      case "settle":
        return Effect.map(facilitator.settle(shown, claim), ({ execution }) => execution === "granted")
      case "claim":
        return Effect.map(facilitator.claim(shown, claim), ({ execution }) => execution === "granted")
      case "settle without a claim":
        return Effect.as(facilitator.settle(shown), true)
      case "verify":
        return Effect.as(facilitator.verify(shown), true)
    }
  }
  const answer = yield* Effect.result(LedgerShop.as(one.caller, ask()))
  return Result.getOrElse(answer, () => false)
}, Effect.scoped)

/**
 * Whether the presentation may be granted: the same payment, by the same caller, in a state whose execution is free.
 */
const isDue = (one: Scenario): boolean => {
  if (isChanged(one) || one.caller !== callers[0]) return false
  if (one.door === "verify") return one.state === "claimed" || one.state === "given back before its transfer"
  return one.door !== "settle without a claim" && states[one.state]
}

describe("every presentation of a payment on record", () => {
  it.effect("opens exactly what the record's own terms open, at each door", () =>
    Effect.gen(function* () {
      const scenarios = fc.sample(scenario, { numRuns: 1_500, seed: 17 })
      for (const one of scenarios) assert.strictEqual(yield* played(one), isDue(one), JSON.stringify(one))
      for (const isGood of [true, false]) assert.isAbove(scenarios.filter((one) => isDue(one) === isGood).length, 100)
    })
  )
})
