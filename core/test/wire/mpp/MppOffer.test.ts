import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as MppOffer from "../../../src/wire/mpp/MppOffer.ts"

describe("an instant", () => {
  it("is written as RFC 3339 has it, in any order of the seconds", () => {
    const millis = fc.oneof(fc.integer({ min: 0, max: 4_102_444_800_000 }), fc.integer({ min: 999, max: 2001 }))
    fc.assert(
      fc.property(fc.array(millis, { minLength: 1 }), (instants) => {
        for (const one of instants) assert.strictEqual(MppOffer.instant(one), new Date(one).toISOString())
      })
    )
  })
})
