import { describe } from "@effect/vitest"

import * as ChaosTrial from "../src/trials/ChaosTrial.ts"
import * as DatabaseTrial from "../src/trials/DatabaseTrial.ts"
import * as GasTrial from "../src/trials/GasTrial.ts"
import * as InstancesTrial from "../src/trials/InstancesTrial.ts"
import * as OlderDatabaseTrial from "../src/trials/OlderDatabaseTrial.ts"
import * as ReorganisationTrial from "../src/trials/ReorganisationTrial.ts"
import * as SignerTrial from "../src/trials/SignerTrial.ts"
import { breaks, keeps } from "./TrialCase.ts"

const quick = { ttl: 3_000, tick: 900, slack: 3_000 }

describe.concurrent("a signer's queue", () => {
  keeps("heals by itself", { run: (options) => SignerTrial.run(options), size: 1 })
})

describe.concurrent("a chain", () => {
  keeps("may be reorganised", { run: ReorganisationTrial.run, size: 5 })
})

describe.concurrent("a node", () => {
  keeps("may fail, lag and lie", { run: ChaosTrial.run, size: 1 })
})

describe.concurrent("one of two instances", () => {
  keeps("may be frozen, and wake", { run: InstancesTrial.run(2, quick), size: 2 })
})

describe.concurrent("a database", () => {
  keeps("may lose its power, its connections, its room", {
    run: (options) => DatabaseTrial.run(options),
    size: 2,
    store: "postgres"
  })
  keeps("in a file may run out of room, and be deleted", { run: (options) => DatabaseTrial.run(options) })
})

describe.concurrent("an older database", () => {
  keeps("in a file is brought up to date under load", { run: OlderDatabaseTrial.run, size: 1 })
  keeps("on PostgreSQL is brought up to date under load", { run: OlderDatabaseTrial.run, size: 1, store: "postgres" })
  breaks("tables-unlooked-at", "began-on-strange-tables", { run: OlderDatabaseTrial.run, size: 1 })
})

describe.concurrent("somebody else's gas", () => {
  keeps("is a budget", { run: GasTrial.run, size: 16 })
})
