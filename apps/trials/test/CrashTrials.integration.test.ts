import { describe } from "@effect/vitest"

import { everyFailpoint } from "../src/faults/Failpoint.ts"
import * as CheckpointTrial from "../src/trials/CheckpointTrial.ts"
import * as CrashTrial from "../src/trials/CrashTrial.ts"
import { keeps } from "./TrialCase.ts"

const strikes = (...actions: ReadonlyArray<string>) => ({
  run: (options: Parameters<typeof CheckpointTrial.run>[0]) =>
    CheckpointTrial.run(options, {
      failpoints: everyFailpoint.filter(({ action }) => actions.includes(action)),
      hangMillis: 2_000
    })
})

describe.concurrent("a facilitator that is killed under load", () => {
  keeps("loses nothing of what is in its file, and serves who has paid", { run: CrashTrial.run, size: 2 })
  keeps("loses nothing of what is in its database, and serves who has paid", {
    run: CrashTrial.run,
    size: 2,
    store: "postgres"
  })
})

describe.concurrent("a facilitator that is struck at every checkpoint", () => {
  keeps("survives a crash", strikes("kill"))
  keeps("survives a defect", strikes("throw"))
  keeps("survives a hang", strikes("hang"))
})
