import { describe } from "@effect/vitest"

import { evmBattery } from "../../src/attacks/Battery.ts"
import { holds } from "./AttackCase.ts"

describe("the battery of attacks on EVM chains, the facilitator and buyers", () => {
  holds(evmBattery)
})
