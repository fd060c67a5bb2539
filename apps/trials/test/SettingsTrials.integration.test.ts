import { describe } from "@effect/vitest"

import * as SettingsTrial from "../src/trials/SettingsTrial.ts"
import { keeps } from "./TrialCase.ts"

describe("a configuration that changes between restarts", () => {
  keeps("ends the pending payments, and serves the paid purchases", { run: (options) => SettingsTrial.run(options) })
})
