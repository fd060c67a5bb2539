/**
 * Reads and writes payment records inside a transaction. A record is locked before it is read for a change, the core's
 * functions compute its new state, and the change is written at once: the row, the event, the notice.
 */
import { type FacilitatorUnavailable, PaymentChange, PaymentStore } from "@pontage/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

import { type Transaction, unreadable } from "../database/Database.ts"
import { type Batch, type Dialect, namesOf, type Run, type Value } from "../database/SqlDialect.ts"
import * as DeliveryRow from "./DeliveryRow.ts"
import { isActive } from "./OpenPayment.ts"
import * as PaymentRow from "./PaymentRow.ts"

type Stored = PaymentStore.StoredPayment

/** A record's change of state. The last entry of the new history is the event. */
export interface Transition {
  readonly before: Stored | undefined
  readonly after: Stored
}

/** The failures of a statement about records. */
export type RecordFault = SqlError | FacilitatorUnavailable

type Read = (
  transaction: Transaction,
  condition: string,
  parameters: ReadonlyArray<Value>
) => Effect.Effect<ReadonlyArray<Stored>, RecordFault>

/** The records of one database. */
export interface Records {
  /** The records for which a condition on `payment p` holds. */
  readonly select: Read
  /** The record of this id. */
  readonly find: (transaction: Transaction, paymentId: string) => Effect.Effect<Stored | undefined, RecordFault>
  /** Records that wait in a lane, oldest first. */
  readonly waiting: (
    transaction: Transaction,
    lane: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Stored>, RecordFault>
  /** Records that wait in a lane whose turn it is (`PaymentStore.queuedInTurn`). */
  readonly waitingInTurn: (
    transaction: Transaction,
    lane: string,
    limit: number,
    ofPayer: number
  ) => Effect.Effect<ReadonlyArray<Stored>, RecordFault>
  /** The serials of the records for which a condition on `payment p` holds. */
  readonly serials: (
    transaction: Transaction,
    condition: string,
    parameters: ReadonlyArray<Value>
  ) => Effect.Effect<ReadonlyArray<bigint>, RecordFault>
  /** The records of these serials, in their order. */
  readonly ofSerials: (
    transaction: Transaction,
    serials: ReadonlyArray<bigint>
  ) => Effect.Effect<ReadonlyArray<Stored>, RecordFault>
  /** The same, locked until this transaction ends, in the order of their serials. */
  readonly lock: Read
  /** Locks the record of this id. */
  readonly lockOne: (transaction: Transaction, paymentId: string) => Effect.Effect<Stored | undefined, RecordFault>
  /** Locks the records of these ids. */
  readonly lockAll: (
    transaction: Transaction,
    paymentIds: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<Stored>, RecordFault>
  readonly create: (transaction: Transaction, payment: Stored) => Effect.Effect<Stored, RecordFault>
  /** Writes a record's changed execution, or whether its answer is owed. */
  readonly keepExecution: (transaction: Transaction, payment: Stored) => Effect.Effect<Stored, SqlError>
  /** Writes a record's changed delivery, and the notice of this state if there is one. */
  readonly keepDelivery: (
    transaction: Transaction,
    payment: Stored,
    notice: PaymentStore.NoticeStatus | undefined
  ) => Effect.Effect<Stored, SqlError>
  /** Writes records whose lane or transaction changed, but not their state. */
  readonly keep: (transaction: Transaction, payments: ReadonlyArray<Stored>) => Effect.Effect<void, SqlError>
  /** Writes records that changed their state, in order. */
  readonly transition: (
    transaction: Transaction,
    transitions: ReadonlyArray<Transition>
  ) => Effect.Effect<void, SqlError>
  /** Writes records that a lane transaction has taken from the queue, in the order of their positions in it. */
  readonly takeFromQueue: (
    transaction: Transaction,
    transitions: ReadonlyArray<Transition>
  ) => Effect.Effect<void, SqlError>
  /** Deletes records whose other rows are deleted already. */
  readonly remove: (transaction: Transaction, payments: ReadonlyArray<Stored>) => Effect.Effect<void, SqlError>
}

export const make = (dialect: Dialect): Records => {
  const notify = notifying(dialect)
  const chronicle = chronicling(dialect, notify)
  const addContract = dialect.insert("contract", PaymentRow.contract)
  const updateRun = dialect.update("payment", "serial", PaymentRow.running)
  const updateDelivery = dialect.update("payment", "serial", DeliveryRow.delivering)
  const updateStanding = dialect.update("payment", "serial", PaymentRow.standing)
  const updateEnded = dialect.update("payment", "serial", PaymentRow.ended)
  const updatePlaced = dialect.update("payment", "serial", PaymentRow.placed)
  const removal = `DELETE FROM payment WHERE ${dialect.isIn("serial", "bigint")}`
  const updatePlanned = dialect.update("payment", "serial", PaymentRow.planned)
  return {
    ...reading(dialect),
    create: Effect.fnUntraced(function* (transaction, payment) {
      const [row] = yield* askSerials(transaction.run, insertion, parametersOf(payment))
      if (row === undefined) return yield* unreadable("payment")
      const created = { ...payment, serial: row.serial }
      yield* transaction.run.write([
        addContract([PaymentRow.toContract(created)]),
        ...chronicle(transaction, [{ before: undefined, after: created }])
      ])
      return created
    }),
    keepExecution: (transaction, payment) => {
      transaction.notifyHere(payment.paymentId)
      return Effect.as(transaction.run.write([updateRun([PaymentRow.toRunning(payment)])]), payment)
    },
    keepDelivery: (transaction, payment, status) => {
      // Callers of every process wait for it.
      transaction.notify(payment.paymentId)
      const notices = notify(transaction, status === undefined ? [] : [{ after: payment, status }])
      return Effect.as(transaction.run.write([updateDelivery([DeliveryRow.toDelivering(payment)]), notices]), payment)
    },
    keep: (transaction, payments) => {
      for (const { paymentId } of payments) transaction.notify(paymentId)
      return transaction.run.write([updatePlaced(payments.map(PaymentRow.toPlaced))])
    },
    transition: (transaction, transitions) => {
      const last = new Map(transitions.map(({ after }) => [after.serial, after]))
      const moved = serialsOf(transitions.filter(isMove))
      const ended = serialsOf(transitions.filter(isEnd))
      const rows = Arr.groupBy(last.values(), ({ serial }) =>
        moved.has(serial) ? "placed" : ended.has(serial) ? "ended" : "standing"
      )
      return transaction.run.write([
        updatePlaced((rows["placed"] ?? []).map(PaymentRow.toPlaced)),
        updateEnded((rows["ended"] ?? []).map(PaymentRow.toEnded)),
        updateStanding((rows["standing"] ?? []).map(PaymentRow.toStanding)),
        ...chronicle(transaction, transitions)
      ])
    },
    takeFromQueue: (transaction, transitions) =>
      transaction.run.write([
        updatePlanned(transitions.map(({ after }, position) => PaymentRow.toPlanned(after, position))),
        ...chronicle(transaction, transitions)
      ]),
    remove: ({ run }, payments) =>
      Effect.asVoid(run(removal, [JSON.stringify(payments.map(({ serial }) => `${serial}`))]))
  }
}

type Reading = Pick<
  Records,
  "select" | "find" | "waiting" | "waitingInTurn" | "serials" | "ofSerials" | "lock" | "lockOne" | "lockAll"
>

const reading = (dialect: Dialect): Reading => {
  const selection = PaymentRow.selection(dialect)
  const read = PaymentRow.reader()
  const select: Read = ({ run }, condition, parameters) =>
    Effect.flatMap(run(`${selection} ${condition}`, parameters), (rows) => Effect.forEach(rows, read))
  const bySerials = `WHERE ${dialect.isIn("p.serial", "bigint")} ORDER BY p.serial`
  const ofSerials: Records["ofSerials"] = (transaction, found) =>
    found.length === 0 ? none : select(transaction, bySerials, [JSON.stringify(found.map(String))])
  // Two statements: one that waits for a row lock would still see the histories from before it waited.
  const lockRows: Read = (transaction, condition, parameters) =>
    Effect.flatMap(serials(transaction, `${condition} ORDER BY p.serial FOR UPDATE`, parameters), (found) =>
      ofSerials(transaction, found)
    )
  const lock: Read = dialect.locksRows
    ? lockRows
    : (transaction, condition, parameters) => select(transaction, `${condition} ORDER BY p.serial`, parameters)
  const byIds = `WHERE ${dialect.isIn("p.payment_id", "text")}`
  return {
    select,
    find: (transaction, paymentId) => Effect.map(select(transaction, byId, [paymentId]), ([payment]) => payment),
    waiting: (transaction, lane, limit) => select(transaction, inQueue, [lane, BigInt(limit)]),
    waitingInTurn: (transaction, lane, limit, ofPayer) =>
      select(transaction, inTurn, [lane, BigInt(ofPayer), BigInt(limit)]),
    serials,
    ofSerials,
    lock,
    lockOne: (transaction, paymentId) => Effect.map(lock(transaction, byId, [paymentId]), ([payment]) => payment),
    lockAll: (transaction, paymentIds) => lock(transaction, byIds, [JSON.stringify(paymentIds)])
  }
}

const serials: Records["serials"] = ({ run }, condition, parameters) =>
  Effect.map(askSerials(run, serialsWhere(condition), parameters), (rows) => rows.map(({ serial }) => serial))

/** The texts by their conditions: a text that is put together anew is looked up slowly among the prepared statements. */
const serialTexts = new Map<string, string>()

const serialsWhere = (condition: string): string => {
  const known = serialTexts.get(condition)
  if (known !== undefined) return known
  const text = `SELECT p.serial FROM payment p ${condition}`
  serialTexts.set(condition, text)
  return text
}

/** The condition that selects one record by its id. */
export const byId = "WHERE p.payment_id = ?"

/** Selects a row if the record exists. */
export const isThere = `SELECT p.serial FROM payment p ${byId}`

/**
 * The condition that selects waiting payments whose turn it is; the parameters bound the number per payer and in total.
 */
export const inTurn = `WHERE p.serial IN (
  SELECT fair.serial FROM (
    SELECT own.serial, ROW_NUMBER() OVER (PARTITION BY own.caller ORDER BY own.place, own.serial) AS turn FROM (
      SELECT q.serial, q.caller, ROW_NUMBER() OVER (PARTITION BY q.caller, q.payer ORDER BY q.serial) AS place
      FROM payment q WHERE q.lane = ? AND q.lane_number IS NULL AND q.status = 'accepted' AND q.active
    ) own WHERE own.place <= CAST(? AS BIGINT)
  ) fair ORDER BY fair.turn, fair.serial LIMIT CAST(? AS BIGINT)
) ORDER BY p.serial`

/**
 * The condition that selects waiting payments of a lane, oldest first. They have no lane number, so the index skips the
 * others. For a bare `LIMIT ?` SQLite plans the statement at each run, which costs ten times as much as its result.
 */
export const inQueue = `WHERE p.lane = ? AND p.lane_number IS NULL AND p.status = 'accepted' AND p.active
  ORDER BY p.serial LIMIT CAST(? AS BIGINT)`

/** A notice to be written. */
interface News {
  readonly after: Stored
  readonly status: PaymentStore.NoticeStatus
}

const notifying = (dialect: Dialect) => {
  const addNotices = dialect.insert("notice", noticeColumns, "ON CONFLICT (payment, status) DO NOTHING")
  return ({ now, notifyHere }: Transaction, news: ReadonlyArray<News>): Batch => {
    const at = BigInt(now)
    if (news.length > 0) notifyHere(PaymentStore.noticesTopic)
    return addNotices(
      news.map(({ after: { caller, serial }, status }) => ({
        payment: serial,
        caller,
        status,
        at,
        attempts: 0n,
        due: at,
        closed: false
      }))
    )
  }
}

const chronicling = (dialect: Dialect, addNotices: ReturnType<typeof notifying>) => {
  const addEvents = dialect.insert("event", eventColumns)
  return (transaction: Transaction, transitions: ReadonlyArray<Transition>): ReadonlyArray<Batch> => {
    const { notify } = transaction
    const at = BigInt(transaction.now)
    for (const { before, after } of transitions) {
      if (PaymentChange.isActionable(before, after)) notify(after.paymentId)
      if (PaymentChange.isWaiting(after) && after.lane !== undefined) notify(after.lane)
    }
    const news = transitions.flatMap(({ before, after }): ReadonlyArray<News> => {
      const status = PaymentChange.noticeStatus(before, after)
      return status === undefined ? [] : [{ after, status }]
    })
    return [
      addEvents(
        transitions.map(({ after: { history, serial, status } }) => ({
          payment: serial,
          ordinal: BigInt(history.length - 1),
          status,
          at,
          note: history.at(-1)?.note ?? null,
          lane_exit: history.at(-1)?.exit ?? null
        }))
      ),
      addNotices(transaction, news)
    ]
  }
}

/** Whether its lane or lane number changed. */
const isMove = ({ after, before }: Transition): boolean =>
  before === undefined || before.lane !== after.lane || before.laneNumber !== after.laneNumber

/**
 * Whether the payment became active or stopped being active: its money moved, was proven not to move, or the reverse.
 */
const isEnd = ({ after, before }: Transition): boolean => before !== undefined && isActive(before) !== isActive(after)

const serialsOf = (transitions: ReadonlyArray<Transition>): ReadonlySet<bigint> =>
  new Set(transitions.map(({ after }) => after.serial))

const none = Effect.succeed<ReadonlyArray<Stored>>([])

const eventColumns = {
  payment: "bigint",
  ordinal: "bigint",
  status: "text",
  at: "bigint",
  note: "text",
  lane_exit: "text"
} as const

const noticeColumns = {
  payment: "bigint",
  caller: "text",
  status: "text",
  at: "bigint",
  attempts: "bigint",
  due: "bigint",
  closed: "boolean"
} as const

/** The database gives the serial. */
const inserted = namesOf({ ...PaymentRow.lasting, ...PaymentRow.changing }).filter((name) => name !== "serial")

const insertion = `INSERT INTO payment (${inserted.join(", ")})
  VALUES (${inserted.map(() => "?").join(", ")}) RETURNING serial`

const parametersOf = (payment: Stored): ReadonlyArray<Value> => {
  const row = { ...PaymentRow.toLasting(payment), ...PaymentRow.toChanging(payment) }
  return inserted.map((name) => row[name])
}

/** Rows by the schema of a table. */
export const reads = <A>(table: string, schema: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownResult(Schema.Array(schema))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>, FacilitatorUnavailable> => {
    const decoded = decode(rows)
    return decoded._tag === "Success" ? Effect.succeed(decoded.success) : Effect.fail(unreadable(table))
  }
}

/** A statement whose rows are decoded. */
export const asks = <A>(table: string, schema: Schema.ConstraintDecoder<A>) => {
  const read = reads(table, schema)
  return (run: Run, text: string, parameters: ReadonlyArray<Value>): Effect.Effect<ReadonlyArray<A>, RecordFault> =>
    Effect.flatMap(run(text, parameters), read)
}

const askSerials = asks("payment", Schema.Struct({ serial: Schema.BigInt }))
