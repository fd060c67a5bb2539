import { describe } from "@effect/vitest"

import * as SettingsTrial from "../src/trials/SettingsTrial.ts"
import { keeps } from "./TrialCase.ts"

describe("a configuration that changes between restarts", () => {
  keeps("ends what was on its way, and serves who has paid", { run: (options) => SettingsTrial.run(options) })
})
