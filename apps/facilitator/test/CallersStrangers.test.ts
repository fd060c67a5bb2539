import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as RateLimiter from "../src/callers/RateLimiter.ts"
import * as RequestingCaller from "../src/callers/RequestingCaller.ts"

const rates = { rate: { perSecond: 4, burst: 8 }, payerRate: { perSecond: 1, burst: 2 } }

/** More than all that is remembered. */
const flood = RateLimiter.defaultCapacity + 1

const isAdmitted = (admission: Effect.Effect<void, unknown>) =>
  Effect.match(admission, { onFailure: () => false, onSuccess: () => true })

describe("the strangers of one caller", () => {
  it.effect(
    "make another one's limits forget neither who was bad, nor who pays too often, nor who has paid before",
    () =>
      Effect.gen(function* () {
        const limiters = RequestingCaller.makeLimiters()
        const quiet = RequestingCaller.limitsOf(limiters, "quiet", rates)
        const flooded = RequestingCaller.limitsOf(limiters, "flooded", rates)
        for (let index = 0; index < 9; index++) yield* quiet.blame("bad place", undefined)
        for (let index = 0; index < 3; index++) yield* quiet.countPayer("often")
        yield* quiet.trust("bad place", "regular")
        for (let index = 0; index < flood; index++) {
          yield* flooded.blame(`place ${index}`, undefined)
          yield* flooded.trust(`place ${index}`, `payer ${index}`)
          yield* flooded.countPayer(`payer ${index}`)
        }
        assert.isFalse(yield* isAdmitted(quiet.admitBuyer("bad place", "stranger")), "a bad place was forgotten")
        assert.isTrue(yield* isAdmitted(quiet.admitBuyer("bad place", "regular")), "a regular payer was forgotten")
        assert.isFalse(yield* isAdmitted(quiet.admitPayer("often")), "a payer's debt was forgotten")
      })
  )
})
