import { describe } from "@effect/vitest"

import { shopBattery } from "../../src/attacks/Battery.ts"
import { holds } from "./AttackCase.ts"

describe("the battery of attacks on shops", () => {
  holds(shopBattery)
})
