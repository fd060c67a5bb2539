/**
 * The payment store over a relational database: one schema and one program for SQLite and PostgreSQL. They differ in
 * their `Dialect` and in the way a transaction runs.
 */
import { PaymentStore, type Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Database, Transaction } from "./database/Database.ts"
import * as PageHorizon from "./postgres/PageHorizon.ts"
import * as ClaimSteps from "./records/ClaimSteps.ts"
import * as CostBook from "./records/CostBook.ts"
import * as DeliverySteps from "./records/DeliverySteps.ts"
import * as ForgetSteps from "./records/ForgetSteps.ts"
import * as LaneSteps from "./records/LaneSteps.ts"
import * as LaneTransactionRows from "./records/LaneTransactionRows.ts"
import * as NoticeSteps from "./records/NoticeSteps.ts"
import { payerOf } from "./records/OpenPayment.ts"
import * as PayerRows from "./records/PayerRows.ts"
import * as Records from "./records/Records.ts"
import * as RememberedPayers from "./sqlite/RememberedPayers.ts"
import * as RememberedRecords from "./sqlite/RememberedRecords.ts"
import * as UnwantedSteps from "./UnwantedSteps.ts"

type Store = PaymentStore.PaymentStore["Service"]

/**
 * Makes a store over a database whose tables are up to date. `signals` are the hints of this process; the database
 * publishes committed changes to them.
 */
export const make = (database: Database, signals: Signals.Signals): Store => {
  const { image } = database
  const plain = Records.make(database.dialect)
  const records = image === undefined ? plain : RememberedRecords.make(plain, image)
  const context = {
    dialect: database.dialect,
    records,
    transactions: LaneTransactionRows.make(database.dialect, records),
    costs: CostBook.make(database.dialect)
  }
  return PaymentStore.PaymentStore.of({
    signals,
    now: database.now,
    ...claims(database, context),
    ...queues(database, context),
    ...lanes(database, context),
    ...books(database, context),
    ...deliveries(database, context),
    ...notices(database, context),
    ...forgetting(database, context),
    probe: probing(database)
  })
}

type Context = LaneSteps.Context

const probing = ({ dialect, inspect = Effect.void, transact }: Database): Store["probe"] =>
  Effect.andThen(
    inspect,
    transact<void, never>(({ run }) => Effect.forEach(dialect.probe, (text) => run(text), { discard: true }))
  )

const claims = (
  { query, batch, queryNow, defer, image, recall, recallOpen }: Database,
  { dialect, records }: Context
): Pick<Store, "find" | "claim" | "queue" | "openPayments" | "finish" | "takeAnswer" | "returnAnswer"> => {
  const payers = image === undefined ? PayerRows.plain : RememberedPayers.make(PayerRows.plain, image.payers)
  const steps = ClaimSteps.make(dialect, { records, payers })
  const asked = (paymentId: string) => query((transaction) => records.find(transaction, paymentId))
  return {
    find: (paymentId) =>
      Effect.suspend(() => {
        const known = recall?.(paymentId)
        if (known !== undefined) return Effect.succeed(known)
        // Most lookups are for new payments: their absence is known at once, without waiting for a turn.
        if (queryNow?.(Records.isThere, [paymentId])?.length !== 0) return asked(paymentId)
        image?.noteAbsent(paymentId)
        return Effect.undefined
      }),
    claim: (payment, claim, intake) => batch((transaction) => steps.claim(transaction, payment, claim, intake ?? {})),
    queue: (paymentId, lane, cover = {}) => batch((transaction) => steps.queue(transaction, paymentId, lane, cover)),
    openPayments: (payment) =>
      Effect.suspend(() => {
        const known = recallOpen?.(payment)
        if (known !== undefined) return Effect.succeed(known)
        const payer = payerOf(payment)
        const seen = queryNow?.(PayerRows.askingOpen, payer)
        return seen === undefined
          ? query(({ run }) => Effect.flatMap(run(PayerRows.askingOpen, payer), PayerRows.toOpen))
          : PayerRows.toOpen(seen)
      }),
    finish: (paymentId, claimId, outcome, caller) =>
      defer((transaction) => steps.finish(transaction, { paymentId, claimId, outcome, caller })),
    takeAnswer: (paymentId, call) => batch((transaction) => steps.takeAnswer(transaction, paymentId, call)),
    returnAnswer: (paymentId, call) => batch((transaction) => steps.returnAnswer(transaction, paymentId, call))
  }
}

const askShares = Records.asks(
  "payment",
  Schema.Struct({ caller: Schema.String, payer: Schema.String, waiting: Schema.BigInt })
)
const shares = `SELECT p.caller, p.payer, count(*) AS waiting FROM payment p
  WHERE p.lane = ? AND p.lane_number IS NULL AND p.status = 'accepted' AND p.active GROUP BY p.caller, p.payer`
const askLoads = Records.asks("payment", Schema.Struct({ lane: Schema.String, load: Schema.BigInt }))

const queues = (
  { query }: Database,
  { dialect, records, transactions }: Context
): Pick<Store, "loads" | "queued" | "queuedInTurn" | "lanesInUse" | "waitingBy" | "openTransactions"> => {
  const loads = `SELECT p.lane, count(*) AS load FROM payment p
    WHERE ${dialect.isIn("p.lane", "text")} AND p.active GROUP BY p.lane`
  return {
    loads: (names) =>
      query(({ run }) =>
        Effect.map(askLoads(run, loads, [JSON.stringify(names)]), (rows) => {
          const found = new Map(rows.map(({ lane, load }) => [lane, Number(load)]))
          return new Map(names.map((name) => [name, found.get(name) ?? 0]))
        })
      ),
    queued: (lane, limit) => query((transaction) => records.waiting(transaction, lane, limit)),
    queuedInTurn: (lane, limit, ofPayer) =>
      query((transaction) => records.waitingInTurn(transaction, lane, limit, ofPayer)),
    lanesInUse: query(({ run }) => Effect.map(askLanes(run, lanesInUse, []), (rows) => rows.map(({ lane }) => lane))),
    waitingBy: (lane) =>
      query(({ run }) =>
        Effect.map(askShares(run, shares, [lane]), (rows) =>
          rows.map(({ waiting, ...share }) => ({ ...share, waiting: Number(waiting) }))
        )
      ),
    openTransactions: (lane) => query((transaction) => transactions.all(transaction, lane))
  }
}

const askLanes = Records.asks("lane", Schema.Struct({ lane: Schema.String }))
const lanesInUse = `SELECT lane FROM payment WHERE active AND lane IS NOT NULL GROUP BY lane
  UNION SELECT lane FROM lane_transaction WHERE NOT closed GROUP BY lane ORDER BY lane`

type LaneMethods = "openLane" | "skipTo" | "plan" | "fillGap" | "replace" | "record"

const lanes = (database: Database, context: Context): Pick<Store, LaneMethods> => {
  const { transact } = database
  const steps = LaneSteps.make(context)
  return {
    openLane: (lease, first) => transact((transaction) => steps.openLane(transaction, lease, first)),
    skipTo: (lease, next) => transact((transaction) => steps.skipTo(transaction, lease, next)),
    plan: (lease, plans, allowance) => transact((transaction) => steps.plan(transaction, lease, plans, allowance)),
    fillGap: (lease, number, prepared) =>
      transact((transaction) => steps.fillGap(transaction, lease, number, prepared)),
    replace: (lease, number, prepared, allowance) =>
      transact((transaction) => steps.replace(transaction, lease, { number, prepared }, allowance)),
    record: (lease, write) => database[urgencyOf(write)]((transaction) => steps.record(transaction, lease, write))
  }
}

/**
 * An inclusion or another end has waiting callers, so it is written at once. That bytes were sent may wait for the next
 * commit, and finality for a later one.
 */
const urgencyOf = ({ changes, transaction }: PaymentStore.LaneWrite): "transact" | "batch" | "defer" => {
  if (transaction?.inclusion !== undefined) return "transact"
  if (changes.every(({ to }) => to === "final")) return "defer"
  return changes.every(({ to }) => to === "sent") ? "batch" : "transact"
}

const books = (
  database: Database,
  { costs, dialect, records }: Context
): Pick<Store, "unwanted" | "endUnwanted" | "spent" | "books" | "page"> => {
  const { query } = database
  const unwanted = UnwantedSteps.make(records)
  const inOrder = "p.serial > ? AND p.serial <= ? ORDER BY p.serial LIMIT ?"
  return {
    unwanted: (network, validBefore, limit, after) =>
      query((transaction) => unwanted.page(transaction, network, validBefore, limit, after)),
    endUnwanted: (unused) => unwanted.end(database, unused),
    spent: (network, since, caller) => query((transaction) => costs.spent(transaction, network, since, caller)),
    books: (network, since) => query((transaction) => costs.books(transaction, network, since)),
    page: (after, limit, caller) =>
      query((transaction) =>
        Effect.flatMap(PageHorizon.settled(dialect, transaction), (last) =>
          caller === undefined
            ? records.select(transaction, `WHERE ${inOrder}`, [after, last, BigInt(limit)])
            : records.select(transaction, `WHERE p.caller = ? AND ${inOrder}`, [caller, after, last, BigInt(limit)])
        )
      )
  }
}

const notices = (
  { query, batch, defer }: Database,
  { dialect, records }: Context
): Pick<Store, "takeNotices" | "closeNotice" | "giveUpNotices" | "noticeBacklog"> => {
  const steps = NoticeSteps.make(dialect, records)
  return {
    takeNotices: (room, leaseMillis) => {
      const look = (transaction: Transaction) =>
        Effect.map(steps.waiting(transaction, [...room.keys()]), (callers) =>
          callers.map((caller) => [caller, room.get(caller) ?? 0] as const)
        )
      const take = (due: ReadonlyArray<readonly [string, number]>) => (transaction: Transaction) =>
        steps.take(transaction, new Map(due), leaseMillis)
      // Mostly nothing is due. Where a transaction delays others, none is opened for that.
      return dialect.locksRows
        ? batch((transaction) => Effect.flatMap(look(transaction), (due) => take(due)(transaction)))
        : Effect.flatMap(query(look), (due) => (due.length === 0 ? Effect.succeed([]) : batch(take(due))))
    },
    closeNotice: (id, retryInMillis) => defer((transaction) => steps.close(transaction, id, retryInMillis)),
    giveUpNotices: (ageMillis, limit, kept = new Set()) =>
      defer((transaction) => steps.giveUp(transaction, ageMillis, limit, kept)),
    noticeBacklog: query(steps.backlog)
  }
}

const deliveries = (
  { query, transact }: Database,
  { records }: Context
): Pick<Store, "undelivered" | "deliver" | "openDeliveries"> => {
  const steps = DeliverySteps.make(records)
  return {
    undelivered: (network, limit, after) =>
      query((transaction) => steps.undelivered(transaction, network, limit, after)),
    deliver: (paymentId, report) => transact((transaction) => steps.deliver(transaction, paymentId, report)),
    openDeliveries: query(steps.open)
  }
}

const forgetting = ({ defer }: Database, { dialect, records }: Context): Pick<Store, "forget"> => {
  const steps = ForgetSteps.make(dialect, records)
  return {
    forget: (ageMillis, after, limit) => defer((transaction) => steps.forget(transaction, ageMillis, after, limit))
  }
}
