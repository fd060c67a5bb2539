/** Lanes that several instances work, on a chain that includes every transaction. */
import type { LaneLeases, PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import { network, prepared } from "./TrialPayments.ts"

export const lanes = [1, 2, 3].map((one) => `${network} shared-${one}`)

/** Completes open transactions, then begins the queued payments. Reports each payment that this worker has settled. */
export const worked = Effect.fnUntraced(function* (
  store: PaymentStore.PaymentStore["Service"],
  lease: LaneLeases.Lease,
  say: (line: object) => Effect.Effect<unknown>
) {
  const { lane } = lease
  let next = yield* store.openLane(lease, 0n)
  while (true) {
    const waiting = yield* store.queued(lane, 4)
    if (waiting.length > 0) {
      const paymentIds = waiting.map(({ paymentId }) => paymentId)
      yield* store.plan(lease, [{ number: next, prepared: prepared(next), paymentIds }])
      next++
    }
    for (const { attempts, number, payments } of yield* store.openTransactions(lane)) {
      const transaction = attempts.at(-1)?.transaction ?? ""
      const block = { number, hash: `block ${number}` }
      const included = payments.map(({ paymentId }) => ({
        paymentId,
        from: ["sent" as const],
        to: "included" as const,
        transaction,
        block
      }))
      const sent = payments.map(({ paymentId }) => ({ paymentId, from: ["planned" as const], to: "sent" as const }))
      yield* store.record(lease, { changes: sent })
      const moved = yield* store.record(lease, {
        changes: included,
        transaction: { number, inclusion: { transaction, block, cost: 10n }, closed: true }
      })
      for (const one of moved) if (one !== undefined) yield* say({ settled: one.paymentId, number, lane })
    }
    yield* Effect.sleep(20)
  }
})
