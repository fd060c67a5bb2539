/**
 * Calls that have died with the process that had them. A call that asks for a settlement is told of its claim only once the
 * money has moved; so where that process is gone and the money had not moved, nobody runs anything, and nobody should wait
 * for the claim's lease. A claim without a wish for settlement was answered before: its handler may be at work.
 */
import { PaymentChange, type PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Database, Transaction } from "../database/Database.ts"
import * as LeaseRows from "./LeaseRows.ts"
import * as Records from "./Records.ts"

/**
 * Gives the claims of dead calls back. For who opens a database that nobody else has open, before the first payment is taken
 * in: `isAlone` says so in the same step. To have been wrong about that costs a living call its turn, and grants no run twice:
 * it claims anew when the money has moved. Records that cannot be written leave the claims to their leases.
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
  // Most starts find nothing, and then nothing is written.
  const found = query((transaction) => Effect.map(records.select(transaction, underWay, []), (all) => all.some(isDead)))
  return Effect.ignore(Effect.flatMap(found, (any) => (any ? giving : Effect.void)))
}

/** Whether no other instance has a session on this PostgreSQL database. */
export const isAloneAs =
  (applicationName: string) =>
  ({ run }: Transaction): Effect.Effect<boolean, Records.RecordFault> =>
    Effect.map(run(LeaseRows.others, [applicationName]), ({ length }) => length === 0)

const underWay = "WHERE p.active AND p.lane IS NOT NULL"

/** A block that is gone takes back what a call may have been told. */
const isDead = ({ history, execution: { holder, resource } }: PaymentStore.StoredPayment): boolean =>
  holder !== undefined && resource !== undefined && !history.some(({ status }) => Settlement.isSettled(status))
