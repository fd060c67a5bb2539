import { describe } from "@effect/vitest"

import type { MutationName } from "../src/Mutation.ts"
import * as ChannelTrial from "../src/trials/ChannelTrial.ts"
import type { TrialOptions } from "../src/world/TrialOptions.ts"
import { breaks, keeps } from "./TrialCase.ts"

describe.concurrent("a shop of payment channels that is killed at every checkpoint", () => {
  const killed = { run: (options: TrialOptions) => ChannelTrial.run(options), size: 1 }
  keeps("keeps every voucher in its file, and claims it", killed)
  keeps("keeps every voucher in its database, and claims it", { ...killed, store: "postgres" })
})

/**
 * Runs without kills: the fault alone shows. The audit waits ten seconds for differences that time may mend. A charge is claimed after three
 * seconds: other draws have begun by then.
 */
const peaceful = {
  run: (options: TrialOptions) =>
    ChannelTrial.run({ ...options, patienceMillis: 10_000 }, { kills: [], claimAgeMillis: 3_000 }),
  size: 1
}

const faults: ReadonlyArray<readonly [MutationName, string]> = [
  ["open-draws-claimed", "claimed-above-charged"],
  ["charged-twice", "charged-above-signed"],
  ["deposits-unneeded", "signed-above-balance"],
  ["charges-lost", "served-uncharged"],
  ["failures-charged", "charged-unserved"],
  ["claims-forgotten", "unclaimed"]
]

describe.concurrent("the audit of payment channels", () => {
  for (const [mutation, check] of faults) breaks(mutation, check, peaceful)
  // Nothing is claimed before the kill, so that the ledger alone has the charges.
  breaks("ledger-forgotten", "charge-forgotten", {
    run: (options) =>
      ChannelTrial.run(options, {
        kills: [{ checkpoint: "draw-ended", action: "kill", passing: 12 }],
        claimAgeMillis: 600_000
      }),
    size: 1
  })
})
