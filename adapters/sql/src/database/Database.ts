/** A database as the store uses it: it runs steps in one transaction and returns once they are durable. */
import { FacilitatorUnavailable, type PaymentStore, type Signals } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Connection } from "effect/sql/SqlConnection"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import type { RecordImage } from "../sqlite/RecordImage.ts"
import * as DatabaseTrouble from "./DatabaseTrouble.ts"
import type { Batch, Dialect, Run, Value } from "./SqlDialect.ts"

/** One transaction: the function that runs statements, the time, and the topics to notify after its commit. */
export interface Transaction {
  readonly run: Run
  /** Unix milliseconds. */
  readonly now: number
  /** Notifies all processes that share the records. */
  readonly notify: (topic: string) => void
  /** Notifies this process alone: for topics that no other process waits for. */
  readonly notifyHere: (topic: string) => void
}

/** The topics that a transaction notifies after its commit. */
export interface Hints {
  readonly here: ReadonlySet<string>
  readonly everywhere: ReadonlySet<string>
}

/**
 * Runs steps in one transaction; a failure rolls it back. `FacilitatorUnavailable` means that the database could not be
 * reached; if the reply to the commit was lost, the steps may have happened.
 */
export type Transact = <A, E>(
  steps: (transaction: Transaction) => Effect.Effect<A, E | SqlError>
) => Effect.Effect<A, E | FacilitatorUnavailable>

/** A database. */
export interface Database {
  readonly dialect: Dialect
  /** The time by which transactions are dated, estimated without running one; Unix milliseconds. */
  readonly now: Effect.Effect<number>
  /** The records kept in memory; present only if no other process writes them. */
  readonly image?: RecordImage
  /** The record in memory, if it is there and durable at this moment. */
  readonly recall?: (paymentId: string) => PaymentStore.StoredPayment | undefined
  /** The payer's open payments from memory, if they are all there and durable at this moment. */
  readonly recallOpen?: (payment: PaymentStore.NewPayment) => PaymentStore.OpenPayments | undefined
  /** The rows of one durable read, at once; `undefined` if it has to go through `query`. */
  readonly queryNow?: (text: string, parameters: ReadonlyArray<Value>) => ReadonlyArray<unknown> | undefined
  readonly transact: Transact
  /** Like `transact`, for writes that may wait for a moment: under load they share a commit. */
  readonly batch: Transact
  /**
   * Like `transact`, for writes that no caller waits for: under load they join a later commit, after some twenty
   * milliseconds at most.
   */
  readonly defer: Transact
  /** Checks that this program may still work on the database. */
  readonly inspect?: Effect.Effect<void, FacilitatorUnavailable>
  /** Runs statements without a transaction around them. They see durable data, and a write is durable at once. */
  readonly query: Transact
}

/**
 * Makes the `Run` of a connection, with this dialect's placeholders. `write` is the connection's own way to run
 * batches, if it has one.
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
 * A database failure as `FacilitatorUnavailable`: the cause and the remedy, without the statement, its parameters or
 * the URL.
 */
export const unavailable = (error: SqlError): FacilitatorUnavailable =>
  unavailableBecause(DatabaseTrouble.sentence(DatabaseTrouble.ofFault(error)))

/** The failure of records that cannot be reached, with the reason. */
export const unavailableBecause = (why: string): FacilitatorUnavailable =>
  new FacilitatorUnavailable({ message: `the payment records cannot be asked: ${why}` })

/**
 * Translates database faults of the steps into `FacilitatorUnavailable`. A connection that breaks during a rollback
 * arrives as a defect and is translated too.
 */
export const explained = <A, E>(steps: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E | FacilitatorUnavailable> =>
  Effect.catchDefect(
    Effect.mapError(steps, (error) => (isSqlError(error) ? unavailable(error) : error)),
    (defect) => (isSqlError(defect) ? Effect.fail(unavailable(defect)) : Effect.die(defect))
  )

/** The failure of a row that this program cannot decode. */
export const unreadable = (table: string): FacilitatorUnavailable =>
  new FacilitatorUnavailable({
    message: `a row of the table ${table} cannot be read: it was written by another program, or by a later release`
  })
