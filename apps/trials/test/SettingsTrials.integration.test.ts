import { describe } from "@effect/vitest"

import * as SettingsTrial from "../src/SettingsTrial.ts"
import { breaks, keeps } from "./TrialCase.ts"

const changed = (...changes: ReadonlyArray<SettingsTrial.Change>) => ({
  run: (options: Parameters<typeof SettingsTrial.run>[0]) => SettingsTrial.run(options, changes)
})

describe.concurrent("a configuration that changes between restarts", () => {
  keeps("ends what was on its way, and serves who has paid", changed("asset", "signer", "batches"))
  breaks("asset-forgotten", "unended", changed("asset"))
  breaks("signer-forgotten", "unended", changed("signer"))
  breaks("maximum-obeyed", "unended", changed("batches"))
})
