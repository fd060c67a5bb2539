import { describe } from "@effect/vitest"

import * as CheckpointTrial from "../src/CheckpointTrial.ts"
import * as CrashTrial from "../src/CrashTrial.ts"
import { everyFailpoint } from "../src/Failpoint.ts"
import { breaks, keeps } from "./TrialCase.ts"

const strikes = (...actions: ReadonlyArray<string>) => ({
  run: (options: Parameters<typeof CheckpointTrial.run>[0]) =>
    CheckpointTrial.run(options, {
      failpoints: everyFailpoint.filter(({ action }) => actions.includes(action)),
      hangMillis: 2_000
    })
})

/** Which of them shows is chance; that one does is not, since every kill meets payments under way. */
const lossesOfMemory = ["forgotten", "unbooked-transfer", "unbooked-broadcast"]

describe.concurrent("a facilitator that is killed under load", () => {
  keeps("loses nothing of what is in its file, and serves who has paid", { run: CrashTrial.run, size: 10 })
  keeps("loses nothing of what is in its database, and serves who has paid", {
    run: CrashTrial.run,
    size: 5,
    store: "postgres"
  })
  breaks("claim-always-granted", "granted-twice", { run: CrashTrial.run, size: 2 })
  breaks("claims-lapse", "charged-unserved", { run: CrashTrial.run, size: 5 })
  breaks("owes-nobody", "unanswered", { run: CrashTrial.run, size: 5 })
  breaks(undefined, lossesOfMemory, { run: CrashTrial.run, size: 4, store: "memory" })
})

describe.concurrent("a facilitator that is struck at every checkpoint", () => {
  keeps("survives a crash", strikes("kill"))
  keeps("survives a defect", strikes("throw"))
  keeps("survives a hang", strikes("hang"))
  // A bound payment's transfer is found whoever has sent it, so one crash may do no harm; several do.
  breaks("broadcast-before-persist", "unbooked-transfer", {
    run: (options) =>
      CheckpointTrial.run(options, {
        failpoints: [1, 2, 3, 4].map((passing) => ({ checkpoint: "submitted", action: "kill", passing }))
      })
  })
})
