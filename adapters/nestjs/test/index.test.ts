import { assert, describe, it } from "@effect/vitest"

import * as PontageNest from "../src/index.ts"

describe("@pontage/nestjs", () => {
  it("exports what an application needs, and nothing else", () => {
    assert.deepStrictEqual(Object.keys(PontageNest).toSorted(), [
      "Meter",
      "Paid",
      "Payment",
      "PaymentGuard",
      "PaymentModule",
      "PaymentRefusedException",
      "PaymentRoutes",
      "ResponseNotHeld",
      "maximumHeldBytes"
    ])
  })
})
