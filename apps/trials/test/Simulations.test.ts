import { describe, expect, it } from "vitest"

import { sweep } from "../src/simulation/SimulationSweep.ts"

/** Seeds in one test: a test that stands still ends some time, and its duration says nothing. */
const share = 100
const patience = 1_800_000

describe("800 simulated worlds keep every promise", () => {
  it.each(Array.from({ length: 800 / share }, (_, place) => 1 + place * share))(
    "from seed %d on",
    async (first) => {
      const { failed, seeds } = await sweep(first, share)
      expect(failed.map(({ plan, violation }) => `seed ${plan.seed}: ${violation?.words}`)).toEqual([])
      expect(seeds).toBe(share)
    },
    patience
  )
})

/** Seeds that broke a promise once, each by a fault of its own kind. */
const found = [
  // A stranger's transaction in our slot is taken back, and our own is included after all: a server without claims is refused.
  700000860,
  700011202, 700020736,
  // The same, and the record counts our own transaction as another's once the slot is closed.
  700015347,
  // A stranger settles an unbound payment before it is prepared: its record says that no money has moved.
  625097494, 700015302,
  // Served at depth one; a reorganisation of seven blocks takes it back, and the account has spent its money otherwise.
  730004354,
  // A stranger settles an unbound payment while it waits for its payer's balance: its buyer is told that the balance is too low.
  741006034,
  // Another facilitator takes a copy in, and a stranger sends it while this one asks for the payer's balance: it is refused as used.
  750027804,
  // A transaction that is included again at a higher price costs its ceiling more.
  753040998,
  // A buyer without claims signs anew while its first transfer is taken back; both come, and its account has no money for another buyer.
  755034587,
  // A signer is taken out of the settings; a reorganisation frees its number before ours, for which only bytes on record are signed.
  756034436,
  // A stranger sends what it overheard in the verification, and a reorganisation takes that back: the words for it are the chain's own.
  759007739
]

describe("simulated worlds that broke a promise once keep it", () => {
  it.each(found)(
    "seed %d",
    async (seed) => {
      const { failed } = await sweep(seed, 1)
      expect(failed.map(({ violation }) => violation?.words)).toEqual([])
    },
    patience
  )
})
