/** The scheme on a ledger in memory, ready for the laws of a scheme. */
import * as Effect from "effect/Effect"

import type * as TestLedger from "../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import type * as SchemeLaws from "../../src/testing/scheme/SchemeLaws.ts"

/** Runs an effect while the ledger responds to no question. */
export const whileDown =
  ({ faults }: TestLedger.TestLedger) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.acquireUseRelease(
      Effect.sync(() => void (faults.down = true)),
      () => effect,
      () => Effect.sync(() => void (faults.down = false))
    )

export const make = (
  ledger: TestLedger.TestLedger,
  options: TestScheme.FacilitatorOptions = {}
): SchemeLaws.SchemeSubject => {
  ledger.deposit("acct-alice", 10n ** 9n)
  ledger.finality = 0
  return {
    payer: TestScheme.client("acct-alice"),
    poor: TestScheme.client("acct-poor"),
    facilitator: TestScheme.facilitator(ledger, { lanes: ["signer-1"], ...options }),
    stranger: TestScheme.facilitator(ledger, {
      lanes: ["signer-2"],
      ...options,
      ...(options.lanes?.length === 0 && { lanes: [] })
    }),
    requirements: {
      scheme: "exact",
      network: TestScheme.network,
      maxAmountRequired: "10000",
      resource: "https://shop.example/report",
      payTo: "acct-shop",
      asset: TestScheme.asset.address
    },
    otherPayTo: "acct-mallory",
    otherAsset: "acct-euro",
    otherNetwork: "ledger:other",
    received: Effect.sync(() => ledger.balanceOf("acct-shop")),
    whileDown: whileDown(ledger),
    finalise: (time) => Effect.sync(() => ledger.tick(time))
  }
}
