import { describe } from "@effect/vitest"
import { Checkpoint } from "@pontage/core"

import { everyFailpoint } from "../src/faults/Failpoint.ts"
import * as CheckpointTrial from "../src/trials/CheckpointTrial.ts"
import * as CrashTrial from "../src/trials/CrashTrial.ts"
import { keeps } from "./TrialCase.ts"

/** A world for each checkpoint: a defect and a hang there, and then a crash, which ends the life that they were in. */
const worlds = Checkpoint.checkpoints.map((checkpoint) =>
  (["throw", "hang", "kill"] as const).flatMap((action) =>
    everyFailpoint.filter((one) => one.checkpoint === checkpoint && one.action === action)
  )
)
const half = worlds.length / 2

const strikes = (from: number, to: number) => ({
  run: (options: Parameters<typeof CheckpointTrial.run>[0]) =>
    CheckpointTrial.run(options, {
      worlds: worlds.slice(from, to).map((failpoints) => ({ failpoints, strikes: "payments" })),
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
  keeps("delivers each payment over CCTP once, beside an attester that is silent now and then, and strangers", {
    run: (options) => CrashTrial.run({ ...options, routes: true, bridge: "cctp" }),
    size: 2
  })
})

describe.concurrent("a facilitator that is struck at a checkpoint", () => {
  keeps("survives a defect, a hang and a crash while payments are taken in and sent", strikes(0, half))
  keeps("survives a defect, a hang and a crash while payments end", strikes(half, worlds.length))
})
