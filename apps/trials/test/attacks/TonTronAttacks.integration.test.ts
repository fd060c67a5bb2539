import { describe } from "@effect/vitest"

import { tonTronBattery } from "../../src/attacks/Battery.ts"
import { holds } from "./AttackCase.ts"

describe("the battery of attacks on TON and TRON", () => {
  holds(tonTronBattery)
})
