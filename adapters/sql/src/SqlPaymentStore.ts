/**
 * The payment store over a relational database: one schema and one program for SQLite and PostgreSQL. What is special to
 * each is a `Dialect` and a way to run a transaction.
 */
import { PaymentStore, type Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Database, Transaction } from "./database/Database.ts"
import * as PageHorizon from "./postgres/PageHorizon.ts"
import * as ClaimSteps from "./records/ClaimSteps.ts"
import * as CostBook from "./records/CostBook.ts"
import * as ForgetSteps from "./records/ForgetSteps.ts"
import * as LaneSteps from "./records/LaneSteps.ts"
import * as LaneTransactionRows from "./records/LaneTransactionRows.ts"
import * as NoticeSteps from "./records/NoticeSteps.ts"
import * as Records from "./records/Records.ts"
import * as RememberedRecords from "./sqlite/RememberedRecords.ts"
import * as UnwantedSteps from "./UnwantedSteps.ts"

type Store = PaymentStore.PaymentStore["Service"]

/**
 * A store over a database whose tables are up to date. `signals` are the hints of this process; the database tells them
 * what was committed.
 */
export const make = (database: Database, signals: Signals.Signals): Store => {
  const { image } = database
  const plain = Records.make(database.dialect)
  const records = image === undefined ? plain : RememberedRecords.make(plain, image)
  const desk = {
    dialect: database.dialect,
    records,
    transactions: LaneTransactionRows.make(database.dialect, records),
    costs: CostBook.make(database.dialect)
  }
  return PaymentStore.PaymentStore.of({
    signals,
    now: database.now,
    ...claims(database, desk),
    ...queues(database, desk),
    ...lanes(database, desk),
    ...books(database, desk),
    ...notices(database, desk),
    ...forgetting(database, desk),
    probe: probing(database)
  })
}

type Desk = LaneSteps.Desk

const probing = ({ dialect, inspect = Effect.void, transact }: Database): Store["probe"] =>
  Effect.andThen(
    inspect,
    transact<void, never>(({ run }) => Effect.forEach(dialect.probe, (text) => run(text), { discard: true }))
  )

const claims = (
  { ask, gather, glance, linger, recall }: Database,
  { dialect, records }: Desk
): Pick<Store, "find" | "claim" | "queue" | "openPayments" | "finish" | "takeAnswer" | "returnAnswer"> => {
  const steps = ClaimSteps.make(dialect, records)
  const asked = (paymentId: string) => ask((transaction) => records.find(transaction, paymentId))
  return {
    find: (paymentId) =>
      Effect.suspend(() => {
        const known = recall?.(paymentId)
        if (known !== undefined) return Effect.succeed(known)
        // Most payments that are looked for are new: that can be told without waiting for anybody's turn.
        return glance?.(Records.isThere, [paymentId])?.length === 0 ? Effect.undefined : asked(paymentId)
      }),
    claim: (payment, claim, intake) => gather((transaction) => steps.claim(transaction, payment, claim, intake ?? {})),
    queue: (paymentId, lane, cover = {}) => gather((transaction) => steps.queue(transaction, paymentId, lane, cover)),
    openPayments: (payment) =>
      Effect.suspend(() => {
        const payer = ClaimSteps.payerOf(payment)
        const seen = glance?.(ClaimSteps.askingOpen, payer)
        return seen === undefined
          ? ask(({ run }) => Effect.flatMap(run(ClaimSteps.askingOpen, payer), ClaimSteps.toOpen))
          : ClaimSteps.toOpen(seen)
      }),
    finish: (paymentId, claimId, outcome, caller) =>
      linger((transaction) => steps.finish(transaction, { paymentId, claimId, outcome, caller })),
    takeAnswer: (paymentId, call) => gather((transaction) => steps.takeAnswer(transaction, paymentId, call)),
    returnAnswer: (paymentId, call) => gather((transaction) => steps.returnAnswer(transaction, paymentId, call))
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
  { ask }: Database,
  { dialect, records, transactions }: Desk
): Pick<Store, "loads" | "queued" | "queuedInTurn" | "lanesInUse" | "waitingBy" | "openTransactions"> => {
  const loads = `SELECT p.lane, count(*) AS load FROM payment p
    WHERE ${dialect.isIn("p.lane", "text")} AND p.active GROUP BY p.lane`
  return {
    loads: (names) =>
      ask(({ run }) =>
        Effect.map(askLoads(run, loads, [JSON.stringify(names)]), (rows) => {
          const found = new Map(rows.map(({ lane, load }) => [lane, Number(load)]))
          return new Map(names.map((name) => [name, found.get(name) ?? 0]))
        })
      ),
    queued: (lane, limit) => ask((transaction) => records.waiting(transaction, lane, limit)),
    queuedInTurn: (lane, limit, ofPayer) =>
      ask((transaction) => records.waitingInTurn(transaction, lane, limit, ofPayer)),
    lanesInUse: ask(({ run }) => Effect.map(askLanes(run, lanesInUse, []), (rows) => rows.map(({ lane }) => lane))),
    waitingBy: (lane) =>
      ask(({ run }) =>
        Effect.map(askShares(run, shares, [lane]), (rows) =>
          rows.map(({ waiting, ...share }) => ({ ...share, waiting: Number(waiting) }))
        )
      ),
    openTransactions: (lane) => ask((transaction) => transactions.all(transaction, lane))
  }
}

const askLanes = Records.asks("lane", Schema.Struct({ lane: Schema.String }))
const lanesInUse = `SELECT lane FROM payment WHERE active AND lane IS NOT NULL GROUP BY lane
  UNION SELECT lane FROM lane_transaction WHERE NOT closed GROUP BY lane ORDER BY lane`

type LaneMethods = "openLane" | "skipTo" | "plan" | "fillGap" | "replace" | "record"

const lanes = (database: Database, desk: Desk): Pick<Store, LaneMethods> => {
  const { transact } = database
  const steps = LaneSteps.make(desk)
  return {
    openLane: (lease, first) => transact((transaction) => steps.openLane(transaction, lease, first)),
    skipTo: (lease, next) => transact((transaction) => steps.skipTo(transaction, lease, next)),
    plan: (lease, plans, allowance) => transact((transaction) => steps.plan(transaction, lease, plans, allowance)),
    fillGap: (lease, number, prepared) =>
      transact((transaction) => steps.fillGap(transaction, lease, number, prepared)),
    replace: (lease, number, prepared, allowance) =>
      transact((transaction) => steps.replace(transaction, lease, { number, prepared }, allowance)),
    record: (lease, entry) => database[urgencyOf(entry)]((transaction) => steps.enter(transaction, lease, entry))
  }
}

/** Somebody waits for where a payment has come to; that its bytes were sent may wait itself; its end is old news. */
const urgencyOf = ({ changes, transaction }: PaymentStore.LaneWrite): "transact" | "gather" | "linger" => {
  if (transaction?.inclusion !== undefined) return "transact"
  if (changes.every(({ to }) => to === "final")) return "linger"
  return changes.every(({ to }) => to === "sent") ? "gather" : "transact"
}

const books = (
  database: Database,
  { costs, dialect, records }: Desk
): Pick<Store, "unwanted" | "expireUnwanted" | "spent" | "books" | "page"> => {
  const { ask } = database
  const unwanted = UnwantedSteps.make(records)
  const inOrder = "p.serial > ? AND p.serial <= ? ORDER BY p.serial LIMIT ?"
  return {
    unwanted: (network, validBefore, limit, after) =>
      ask((transaction) => unwanted.page(transaction, network, validBefore, limit, after)),
    expireUnwanted: (unused) => unwanted.expire(database, unused),
    spent: (network, since, caller) => ask((transaction) => costs.spent(transaction, network, since, caller)),
    books: (network, since) => ask((transaction) => costs.books(transaction, network, since)),
    page: (after, limit, caller) =>
      ask((transaction) =>
        Effect.flatMap(PageHorizon.settled(dialect, transaction), (last) =>
          caller === undefined
            ? records.select(transaction, `WHERE ${inOrder}`, [after, last, BigInt(limit)])
            : records.select(transaction, `WHERE p.caller = ? AND ${inOrder}`, [caller, after, last, BigInt(limit)])
        )
      )
  }
}

const notices = (
  { ask, gather, linger }: Database,
  { dialect, records }: Desk
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
      // Mostly nothing is due: where a transaction keeps others waiting, none is begun for that.
      return dialect.locksRows
        ? gather((transaction) => Effect.flatMap(look(transaction), (due) => take(due)(transaction)))
        : Effect.flatMap(ask(look), (due) => (due.length === 0 ? Effect.succeed([]) : gather(take(due))))
    },
    closeNotice: (id, retryInMillis) => linger((transaction) => steps.close(transaction, id, retryInMillis)),
    giveUpNotices: (ageMillis, limit) => linger((transaction) => steps.giveUp(transaction, ageMillis, limit)),
    noticeBacklog: ask(steps.untold)
  }
}

const forgetting = ({ linger }: Database, { dialect, records }: Desk): Pick<Store, "forget"> => {
  const steps = ForgetSteps.make(dialect, records)
  return {
    forget: (ageMillis, after, limit) => linger((transaction) => steps.forget(transaction, ageMillis, after, limit))
  }
}
