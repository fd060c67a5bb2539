import { describe } from "@effect/vitest"

import * as ChaosTrial from "../src/trials/ChaosTrial.ts"
import * as DatabaseTrial from "../src/trials/DatabaseTrial.ts"
import * as OlderDatabaseTrial from "../src/trials/OlderDatabaseTrial.ts"
import * as ReorganisationTrial from "../src/trials/ReorganisationTrial.ts"
import type { TrialOptions } from "../src/world/TrialOptions.ts"
import { breaks, keeps } from "./TrialCase.ts"

/** Every fault of the store, one after another. */
const hurt = { run: (options: TrialOptions) => DatabaseTrial.run(options, { isOneWorld: true }) }

// The longest come first: five run side by side.
describe.concurrent("a database", () => {
  keeps("may lose its power, its connections and its room, and refuse writes", { ...hurt, size: 2, store: "postgres" })
  keeps("in a file may run out of room, and be deleted", hurt)
})

describe.concurrent("a chain", () => {
  keeps("may be reorganised", { run: ReorganisationTrial.run, size: 5 })
})

describe.concurrent("a node", () => {
  keeps("may fail, lag and lie", { run: ChaosTrial.run, size: 1 })
})

describe.concurrent("an older database", () => {
  keeps("in a file is brought up to date under load", { run: OlderDatabaseTrial.run, size: 1 })
  keeps("on PostgreSQL is brought up to date under load", { run: OlderDatabaseTrial.run, size: 1, store: "postgres" })
  breaks("tables-unlooked-at", "began-on-strange-tables", { run: OlderDatabaseTrial.run, size: 1 })
})
