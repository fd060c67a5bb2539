/**
 * Calls that ended with their process. A call for a settlement learns of its claim only after the money has moved. If
 * the process is gone and the money had not moved, nothing executes under the claim, and waiting for its lease would be
 * pointless. A claim without a settlement was answered earlier: its handler may be running. A caller that runs its handler
 * before the settlement has run it by the time it asks for that; it may not let the result out unless the settlement is
 * granted as well, so another claim may be granted in its place.
 */
import { PaymentChange, type PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Database, Transaction } from "../database/Database.ts"
import * as LeaseRows from "./LeaseRows.ts"
import * as Records from "./Records.ts"

/**
 * Releases the claims of dead calls. It is for a process that opens a database that no other process has open, before
 * it takes the first payment; `isAlone` checks that in the same step. A wrong answer costs a living call its turn but
 * never grants a second execution: the call claims again once the money has moved. If the records cannot be written,
 * the claims end with their leases.
 */
export const giveBack = (
  { query, dialect, transact }: Pick<Database, "query" | "dialect" | "transact">,
  isAlone: (transaction: Transaction) => Effect.Effect<boolean, Records.RecordFault> = () => Effect.succeed(true)
): Effect.Effect<void> => {
  const records = Records.make(dialect)
  const giving = transact((transaction) =>
    Effect.gen(function* () {
      if (!(yield* isAlone(transaction))) return
      for (const payment of yield* records.lock(transaction, underWay, [])) {
        const { holder } = payment.execution
        if (holder === undefined || !isDead(payment)) continue
        yield* records.keepExecution(
          transaction,
          PaymentChange.finished(payment, holder.claimId, "unanswered", transaction.now)
        )
      }
    })
  )
  // Most starts find no dead call and write nothing.
  const found = query((transaction) => Effect.map(records.select(transaction, underWay, []), (all) => all.some(isDead)))
  return Effect.ignore(Effect.flatMap(found, (any) => (any ? giving : Effect.void)))
}

/** Whether no other instance has a session on this PostgreSQL database. */
export const isAloneAs =
  (applicationName: string) =>
  ({ run }: Transaction): Effect.Effect<boolean, Records.RecordFault> =>
    Effect.map(run(LeaseRows.others, [applicationName]), ({ length }) => length === 0)

const underWay = "WHERE p.active AND p.lane IS NOT NULL"

/** A payment that was settled once does not count: its call may have been answered, even if the block is gone. */
const isDead = ({ history, execution: { holder, resource } }: PaymentStore.StoredPayment): boolean =>
  holder !== undefined && resource !== undefined && !history.some(({ status }) => Settlement.isSettled(status))
