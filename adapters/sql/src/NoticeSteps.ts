/**
 * The notices that callers are to be told: written with the change they are about, taken by whoever tells them, and taken
 * again when nobody has said that they were told.
 */
import type { PaymentStore } from "@pontage/core"
import { Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "./Database.ts"
import type { Dialect } from "./Dialect.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

const NoticeRow = Schema.Struct({
  id: Schema.BigInt,
  payment: Schema.BigInt,
  status: Settlement.PaymentState,
  at: Schema.BigInt,
  attempts: Schema.BigInt
})
const ask = asks("notice", NoticeRow)

/** The steps, over the records of one database. */
export const make = (dialect: Dialect, records: Records) => {
  const due = `SELECT ${Object.keys(NoticeRow.fields).join(", ")} FROM notice
    WHERE NOT closed AND due <= ? ORDER BY id LIMIT ? ${dialect.skipLocked}`
  const take = dialect.update("notice", "id", { id: "bigint", attempts: "bigint", due: "bigint" })
  return {
    take: Effect.fnUntraced(function* (
      transaction: Transaction,
      limit: number,
      leaseMillis: number
    ): Effect.fn.Return<ReadonlyArray<PaymentStore.Notice>, RecordFault> {
      const { now, run } = transaction
      const rows = yield* ask(run, due, [BigInt(now), BigInt(limit)])
      if (rows.length === 0) return []
      const until = BigInt(Math.ceil(now + leaseMillis))
      yield* run.write([take(rows.map(({ attempts, id }) => ({ id, attempts: attempts + 1n, due: until })))])
      const serials = JSON.stringify(rows.map(({ payment }) => `${payment}`))
      const payments = yield* records.select(transaction, `WHERE ${dialect.isIn("p.serial", "bigint")}`, [serials])
      const bySerial = new Map(payments.map((payment) => [payment.serial, payment]))
      return rows.flatMap(({ at, attempts, id, payment: serial, status }) => {
        const payment = bySerial.get(serial)
        return payment === undefined
          ? []
          : [{ id: `${id}`, attempts: Number(attempts), payment, status, at: Number(at) }]
      })
    }),

    close: Effect.fnUntraced(function* (
      { run }: Transaction,
      id: string,
      retryAt: number | undefined
    ): Effect.fn.Return<void, RecordFault> {
      if (!/^\d{1,18}$/.test(id)) return
      if (retryAt === undefined) yield* run("UPDATE notice SET closed = TRUE WHERE id = ?", [BigInt(id)])
      else yield* run("UPDATE notice SET due = ? WHERE id = ? AND NOT closed", [BigInt(Math.ceil(retryAt)), BigInt(id)])
    })
  }
}
