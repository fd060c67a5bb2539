/**
 * The notices for callers. A notice is written with the change it reports, taken by a deliverer, and taken again if no
 * delivery was confirmed. Each caller has its own queue, so an unreachable one delays no other. The ends of one payment
 * are delivered in order: a notice waits while an earlier one of its payment is open.
 */
import { PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

const Flag = Schema.Union([Schema.Boolean, Schema.Literals([0n, 1n])])

const NoticeRow = Schema.Struct({
  id: Schema.BigInt,
  payment: Schema.BigInt,
  status: Schema.Union([Settlement.PaymentState, Schema.Literal(PaymentStore.deliveredNotice)]),
  at: Schema.BigInt,
  attempts: Schema.BigInt,
  follows: Flag
})
const ask = asks("notice", NoticeRow)
type Row = typeof NoticeRow.Type

const askCallers = asks("notice", Schema.Struct({ caller: Schema.String }))
const askOld = asks("notice", Schema.Struct({ id: Schema.BigInt, caller: Schema.NullOr(Schema.String) }))
const askClosed = asks("notice", Schema.Struct({ payment: Schema.BigInt }))
const askBacklog = asks("notice", Schema.Struct({ count: Schema.BigInt, oldest: Schema.NullOr(Schema.BigInt) }))

/**
 * Delay of a notice behind an open one of the same payment, in milliseconds, unless that one is closed before; and the
 * number of such notices that one look passes over.
 */
const followMillis = 15_000
const passedBy = 64

/** Number of notices in one transaction after which the remaining callers wait for the next one. */
const takenAtOnce = 128

/** The steps, over the records of one database. */
export const make = (dialect: Dialect, records: Records) => {
  const due = `SELECT n.id, n.payment, n.status, n.at, n.attempts,
      EXISTS (SELECT 1 FROM notice o WHERE o.payment = n.payment AND o.id < n.id AND NOT o.closed) AS follows
    FROM notice n WHERE n.caller = ? AND NOT n.closed AND n.due <= ?
    ORDER BY n.due, n.id LIMIT CAST(? AS BIGINT) ${dialect.skipLocked}`
  const waiting = `SELECT r.caller FROM ${dialect.listed("caller")} r
    WHERE EXISTS (SELECT 1 FROM notice n WHERE n.caller = r.caller AND NOT n.closed AND n.due <= ?)`
  const take = dialect.update("notice", "id", { id: "bigint", attempts: "bigint", due: "bigint" })

  const takeOf = Effect.fnUntraced(function* (
    { now, run }: Transaction,
    caller: string,
    room: number,
    leaseMillis: number
  ): Effect.fn.Return<ReadonlyArray<Row>, RecordFault> {
    const rows = yield* ask(run, due, [caller, BigInt(now), BigInt(room + passedBy)])
    const taken = rows.filter(({ follows }) => !follows).slice(0, room)
    const following = rows.filter(({ follows }) => Boolean(follows))
    const until = BigInt(Math.ceil(now + leaseMillis))
    yield* run.write([
      take(taken.map(({ attempts, id }) => ({ id, attempts: attempts + 1n, due: until }))),
      take(following.map(({ attempts, id }) => ({ id, attempts, due: BigInt(now + followMillis) })))
    ])
    return taken
  })

  return {
    ...care(dialect),

    /** The callers with due notices, out of these. */
    waiting: (
      { now, run }: Transaction,
      callers: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyArray<string>, RecordFault> =>
      Effect.map(askCallers(run, waiting, [JSON.stringify(callers), BigInt(now)]), (rows) =>
        rows.map(({ caller }) => caller)
      ),

    take: Effect.fnUntraced(function* (
      transaction: Transaction,
      room: ReadonlyMap<string, number>,
      leaseMillis: number
    ): Effect.fn.Return<ReadonlyArray<PaymentStore.Notice>, RecordFault> {
      const rows: Array<Row> = []
      for (const [caller, limit] of room) {
        if (rows.length < takenAtOnce) rows.push(...(yield* takeOf(transaction, caller, limit, leaseMillis)))
      }
      const payments = yield* records.ofSerials(transaction, [...new Set(rows.map(({ payment }) => payment))])
      const bySerial = new Map(payments.map((payment) => [payment.serial, payment]))
      return rows.flatMap(({ at, attempts, id, payment: serial, status }) => {
        const payment = bySerial.get(serial)
        return payment === undefined
          ? []
          : [{ id: `${id}`, attempts: Number(attempts), payment, status, at: Number(at) }]
      })
    }),

    close: Effect.fnUntraced(function* (
      { now, run }: Transaction,
      id: string,
      retryInMillis: number | undefined
    ): Effect.fn.Return<void, RecordFault> {
      if (!/^\d{1,18}$/.test(id)) return
      if (retryInMillis !== undefined) {
        const retryAt = BigInt(Math.ceil(now + retryInMillis))
        return void (yield* run("UPDATE notice SET due = ? WHERE id = ? AND NOT closed", [retryAt, BigInt(id)]))
      }
      const [row] = yield* askClosed(run, closed, [BigInt(id)])
      if (row !== undefined) yield* run(release, [BigInt(now), row.payment, BigInt(id), BigInt(now)])
    })
  }
}

/** The upkeep of all callers' notices. */
const care = (dialect: Dialect) => {
  const old = `SELECT id, caller FROM notice WHERE NOT closed AND at < ? AND (attempts > 1 OR NOT ${dialect.isIn("caller", "text")})
    ORDER BY id LIMIT CAST(? AS BIGINT)`
  const close = `UPDATE notice SET closed = TRUE WHERE ${dialect.isIn("id", "bigint")}`
  return {
    giveUp: Effect.fnUntraced(function* (
      { now, run }: Transaction,
      ageMillis: number,
      limit: number,
      kept: ReadonlySet<string>
    ): Effect.fn.Return<ReadonlyMap<string, number>, RecordFault> {
      yield* run(named, [BigInt(limit)])
      const before = BigInt(Math.floor(now - ageMillis))
      const rows = yield* askOld(run, old, [before, JSON.stringify([...kept]), BigInt(limit)])
      if (rows.length > 0) yield* run(close, [JSON.stringify(rows.map(({ id }) => `${id}`))])
      const counts = new Map<string, number>()
      for (const { caller } of rows) counts.set(caller ?? "", (counts.get(caller ?? "") ?? 0) + 1)
      return counts
    }),

    backlog: ({ run }: Transaction): Effect.Effect<PaymentStore.NoticeBacklog, RecordFault> =>
      Effect.map(askBacklog(run, backlog, []), ([row]) => ({
        count: Number(row?.count ?? 0n),
        oldest: row?.oldest === null || row === undefined ? undefined : Number(row.oldest)
      }))
  }
}

const closed = "UPDATE notice SET closed = TRUE WHERE id = ? AND NOT closed RETURNING payment"

/** The next notice of the same payment becomes due at once. */
const release = "UPDATE notice SET due = ? WHERE payment = ? AND id > ? AND NOT closed AND due > ?"

const backlog = "SELECT count(*) AS count, min(at) AS oldest FROM notice WHERE NOT closed"

/** Releases before 0.2 write notices without the caller; this fills it in. */
const named = `UPDATE notice SET caller = (SELECT p.caller FROM payment p WHERE p.serial = notice.payment)
  WHERE id IN (SELECT id FROM notice WHERE caller IS NULL AND NOT closed LIMIT CAST(? AS BIGINT))`
