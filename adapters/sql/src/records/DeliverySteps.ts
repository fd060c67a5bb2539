/** Payments whose money goes on to another network: those that are not delivered for good, and what is learned about them. */
import { Delivery, PaymentChange, type PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import * as DeliveryRow from "./DeliveryRow.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

type Stored = PaymentStore.StoredPayment

/** The settled states, as a list of SQL. */
const moved = Settlement.paymentStates
  .filter(Settlement.isSettled)
  .map((state) => `'${state}'`)
  .join(", ")

/** The order of the index `payment_delivering`, which holds only such payments. */
const undelivered = `WHERE p.delivering AND p.network = ? AND p.serial > ? AND p.status IN (${moved})
  ORDER BY p.serial LIMIT CAST(? AS BIGINT)`

const everyOpen = `SELECT p.network, p.delivery FROM payment p WHERE p.delivering AND p.status IN (${moved})`
const askOpen = asks("payment", Schema.Struct({ network: Schema.String, delivery: DeliveryRow.DeliveryJson }))

/** The steps, over the records of one database. */
export const make = (records: Records) => ({
  undelivered: (
    transaction: Transaction,
    network: string,
    limit: number,
    after: bigint
  ): Effect.Effect<ReadonlyArray<Stored>, RecordFault> =>
    Effect.flatMap(records.serials(transaction, undelivered, [network, after, BigInt(limit)]), (serials) =>
      Effect.map(records.ofSerials(transaction, serials), (found) =>
        found.toSorted((a, b) => (a.serial < b.serial ? -1 : 1))
      )
    ),

  deliver: Effect.fnUntraced(function* (
    transaction: Transaction,
    paymentId: string,
    report: Delivery.DeliveryReport
  ): Effect.fn.Return<Stored | undefined, RecordFault> {
    const known = yield* records.lockOne(transaction, paymentId)
    const after = known && Delivery.reported(known, report, transaction.now)
    if (known === undefined || after === undefined || after === known) return known
    return yield* records.keepDelivery(transaction, after, PaymentChange.noticeStatus(known, after))
  }),

  open: ({ run }: Transaction): Effect.Effect<ReadonlyArray<PaymentStore.OpenDeliveries>, RecordFault> =>
    Effect.map(askOpen(run, everyOpen, []), (rows) =>
      Delivery.countsOf(
        rows.map(({ delivery, network }) => ({ from: network, to: delivery.network, status: delivery.status }))
      )
    )
})
