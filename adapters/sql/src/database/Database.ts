/**
 * A database as the store sees it: something that runs a few steps in one transaction and answers once they are durable.
 */
import { FacilitatorUnavailable, type PaymentStore, type Signals } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Connection } from "effect/sql/SqlConnection"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import type { RecordImage } from "../sqlite/RecordImage.ts"
import * as DatabaseTrouble from "./DatabaseTrouble.ts"
import type { Batch, Dialect, Run, Value } from "./SqlDialect.ts"

/**
 * One transaction: what its steps run statements with, the time, and the topics that are hinted at after its commit.
 */
export interface Transaction {
  readonly run: Run
  /** Unix milliseconds. */
  readonly now: number
  /** Has everybody hear of it who shares the records. */
  readonly notify: (topic: string) => void
  /** Has those hear of it who wait in this process: of what nobody else waits for. */
  readonly notifyHere: (topic: string) => void
}

/** What a transaction will have told after its commit. */
export interface Hints {
  readonly here: ReadonlySet<string>
  readonly everywhere: ReadonlySet<string>
}

/**
 * Runs steps in one transaction. A failure of theirs undoes everything. `FacilitatorUnavailable` says that the database
 * could not be asked; when the answer to the commit was lost, the steps may have happened.
 */
export type Transact = <A, E>(
  steps: (transaction: Transaction) => Effect.Effect<A, E | SqlError>
) => Effect.Effect<A, E | FacilitatorUnavailable>

/** A database. */
export interface Database {
  readonly dialect: Dialect
  /** The time that transactions are at, as far as it can be told without one; Unix milliseconds. */
  readonly now: Effect.Effect<number>
  /** What is remembered of the records; only where nobody else writes them. */
  readonly image?: RecordImage
  /** What is remembered of a record and durable, at this moment. */
  readonly recall?: (paymentId: string) => PaymentStore.StoredPayment | undefined
  /** The rows of a question of one statement, durable, at this moment; `undefined` when it has to be asked (`ask`). */
  readonly queryNow?: (text: string, parameters: ReadonlyArray<Value>) => ReadonlyArray<unknown> | undefined
  readonly transact: Transact
  /** Does the same for what may wait for a moment: under load it is cheaper in company. */
  readonly batch: Transact
  /** Does the same for what nobody waits for: under load it comes along with others, or after some twenty milliseconds. */
  readonly defer: Transact
  /** Whether the database is still one that this program may work on. */
  readonly inspect?: Effect.Effect<void, FacilitatorUnavailable>
  /** Runs statements without a transaction around them. What they see is durable, and what they write is at once. */
  readonly query: Transact
}

/**
 * Where statements run, the database's own words being used. `write` is the connection's own way to run batches, if it has
 * any.
 */
export const runOn = (dialect: Dialect, text: (statement: string) => string) => {
  const spoken = ({ rows, text: statement }: Batch): Batch<unknown> => ({
    text: text(statement),
    rows: rows.map((row) => row.map(dialect.parameter))
  })
  return (connection: Pick<Connection, "execute">, write?: WriteAll): Run => {
    const run = (statement: string, parameters: ReadonlyArray<Value> = []) =>
      connection.execute(text(statement), parameters.map(dialect.parameter), undefined)
    const one = (batch: Batch) => Effect.forEach(batch.rows, (row) => run(batch.text, row), { discard: true })
    return Object.assign(run, {
      write: (batches: ReadonlyArray<Batch>) =>
        write === undefined ? Effect.forEach(batches, one, { discard: true }) : write(batches.map(spoken))
    })
  }
}

/** Runs batches as a connection takes them. */
export type WriteAll = (batches: ReadonlyArray<Batch<unknown>>) => Effect.Effect<void, SqlError>

/** A transaction on a connection, at this time (Unix milliseconds), and what it will have told. */
export const beginAt = (run: Run, now: number): readonly [Transaction, Hints] => {
  const here = new Set<string>()
  const everywhere = new Set<string>()
  return [
    { run, now, notify: (topic) => everywhere.add(topic), notifyHere: (topic) => here.add(topic) },
    { here, everywhere }
  ]
}

/** The same, at the time of this process's clock: where no other process has the records. */
export const begin = (run: Run): Effect.Effect<readonly [Transaction, Hints]> =>
  Effect.map(Clock.currentTimeMillis, (now) => beginAt(run, now))

/** Tells those who wait in this process. */
export const notify = (signals: Signals.Signals, { everywhere, here }: Hints): void => {
  for (const topic of new Set([...here, ...everywhere])) signals.notify(topic)
}

/**
 * The failure of a database in the facilitator's words: the cause and what mends it, never what was sent to the database or
 * where it is.
 */
export const unavailable = (error: SqlError): FacilitatorUnavailable =>
  unavailableBecause(DatabaseTrouble.sentence(DatabaseTrouble.ofFault(error)))

/** The failure of records that cannot be asked for a reason. */
export const unavailableBecause = (why: string): FacilitatorUnavailable =>
  new FacilitatorUnavailable({ message: `the payment records cannot be asked: ${why}` })

/**
 * Steps whose database faults are told in the facilitator's words. A connection that breaks while its transaction is being
 * undone comes as a defect from below: it is told in the same words.
 */
export const explained = <A, E>(steps: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E | FacilitatorUnavailable> =>
  Effect.catchDefect(
    Effect.mapError(steps, (error) => (isSqlError(error) ? unavailable(error) : error)),
    (defect) => (isSqlError(defect) ? Effect.fail(unavailable(defect)) : Effect.die(defect))
  )

/** A row that is not as this program writes it. */
export const unreadable = (table: string): FacilitatorUnavailable =>
  new FacilitatorUnavailable({
    message: `a row of the table ${table} cannot be read: it was written by another program, or by a later release`
  })
