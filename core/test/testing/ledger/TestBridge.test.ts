import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type { Payload } from "../../../src/testing/ledger/LedgerScheme.ts"
import * as TestBridge from "../../../src/testing/ledger/TestBridge.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as OnwardLaws from "../../../src/testing/scheme/OnwardLaws.ts"
import * as LedgerSubject from "../LedgerSubject.ts"

/** The bridge between two ledgers, which attests nothing by itself. */
const subject = (): OnwardLaws.OnwardSubject => {
  const ledger = TestLedger.make()
  const far = TestLedger.make()
  const bridge = TestBridge.make(ledger, far)
  bridge.faults.withheld = true
  const near = LedgerSubject.make(ledger, { onward: bridge.onward })
  return {
    near: { ...near, requirements: { ...near.requirements, payTo: "acct-to-shop" } },
    far: bridge.farFacilitator(["signer-far"]),
    received: Effect.sync(() => far.balanceOf("acct-shop")),
    restarted: Effect.sync(() => TestScheme.facilitator(ledger, { lanes: ["signer-1"], onward: bridge.onward })),
    attemptsDiffer: true,
    attest: Effect.sync(() => {
      bridge.faults.withheld = false
    }),
    deliver: ({ payload }) => bridge.deliverByStranger(TestLedger.toOrder(payload as Payload)),
    finalise: Effect.sync(() => {
      far.finality = 0
    }),
    whileFarDown: LedgerSubject.whileDown(far)
  }
}

describe("the bridge between two ledgers keeps the laws of schemes that go on:", () => {
  for (const { effect, name } of OnwardLaws.all) {
    it.live(name, () => Effect.provideService(effect, OnwardLaws.Subject, subject()))
  }
})
