/** The records of a process that ended with calls under way, and what the next process finds. */
import { assert } from "@effect/vitest"
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import { lane, payment, prepared } from "../TrialPayments.ts"

type Store = PaymentStore.PaymentStore["Service"]

const claimOf = (name: string) => ({ id: `claim-of-${name}`, resource: "report" })
const names = ["waiting", "sent", "included", "taken-back", "claimed", "settled-after"] as const
const isClaimedFirst = (name: (typeof names)[number]) => name === "claimed" || name === "settled-after"

/**
 * A call queued in a lane, one with sent bytes, two whose money has moved (one was taken back), one with a claim alone,
 * and one whose caller has run its handler under its claim and then asked for the settlement.
 */
export const leave = Effect.fnUntraced(function* (store: Store) {
  const lease = { lane, epoch: 1, isValid: () => true }
  for (const name of names) {
    yield* store.claim(payment(name), claimOf(name), isClaimedFirst(name) ? {} : { lane })
  }
  yield* store.queue("pay_settled-after", lane, { available: 1_000_000_000n })
  yield* store.openLane(lease, 0n)
  const travelling = ["sent", "included", "taken-back"].map((name) => `pay_${name}`)
  yield* store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: travelling }])
  const enter = (name: string, from: "planned" | "included", to: "sent" | "included") =>
    store.record(lease, { changes: [{ paymentId: `pay_${name}`, from: [from], to }] })
  yield* enter("sent", "planned", "sent")
  yield* enter("included", "planned", "included")
  yield* enter("taken-back", "planned", "included")
  yield* enter("taken-back", "included", "sent")
})

/** The payments that another claim is granted. */
export const grants = Effect.fnUntraced(function* (store: Store) {
  const granted: Array<string> = []
  for (const name of names) {
    const result = yield* store.claim(payment(name), { id: "another-claim", resource: "report" })
    assert(result._tag === "Claimed")
    if (result.execution === "granted") granted.push(name)
    else assert.strictEqual(result.execution, "held")
  }
  return granted
})

/** The payments whose calls got no response. */
export const dead: ReadonlyArray<string> = ["waiting", "sent", "settled-after"]

/** The verdict on the claim of the caller that had run its handler, once another is granted: its result stays with it. */
export const verdictOnFirst = (store: Store) =>
  Effect.map(store.claim(payment("settled-after"), claimOf("settled-after")), (result) =>
    result._tag === "Claimed" ? result.execution : undefined
  )
