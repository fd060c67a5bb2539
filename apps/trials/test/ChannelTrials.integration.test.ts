import { describe } from "@effect/vitest"

import * as ChannelTrial from "../src/trials/ChannelTrial.ts"
import { breaks, keeps } from "./TrialCase.ts"

const { run } = ChannelTrial

describe("a shop of payment channels that is killed at every checkpoint", () => {
  keeps("keeps every voucher in its file, and claims it", { run, size: 1 })
})

/** The other faults are found by `npm run trials -- channels --mutation <name>`; `ChannelAudit`'s tests plant each difference. */
describe("the audit of payment channels", () => {
  breaks("ledger-forgotten", "charge-forgotten", { run, size: 1 })
})
