/**
 * Many operations, one commit. A commit waits for the disk, and on a busy disk for milliseconds; so the operations that
 * arrive in one turn of the event loop are run one after another in one transaction, each in a savepoint of its own, and
 * all are answered after its commit. None waits longer than by itself, and all together cost one sync. Those that only ask
 * run after that commit, outside of it: what they see is durable, and a turn without writes has no transaction at all.
 */
import type { Signals } from "@pontage/core"
import { FacilitatorUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"

import * as Database from "./Database.ts"
import * as Dialect from "./Dialect.ts"
import type { SqliteFile } from "./SqliteFile.ts"

/** An operation that waits: its steps, which tell whether they are to be kept, and its answer. */
interface Job {
  readonly asksOnly: boolean
  readonly steps: Effect.Effect<boolean>
  readonly answer: () => void
  readonly refuse: (fault: FacilitatorUnavailable) => void
}

/** So many in one transaction: the event loop stands still for them. */
const atOnce = 256

/**
 * The transactions of a file, and its questions.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  file: SqliteFile,
  signals: Signals.Signals
): Effect.fn.Return<Pick<Database.Database, "transact" | "ask">, never, Scope.Scope> {
  const run = Database.runOn(Dialect.sqlite, Dialect.sqlite.text)(file.connection)
  const waiting: Array<Job> = []
  const bell = Latch.makeUnsafe()
  let closed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      for (const { refuse } of waiting.splice(0)) refuse(shut)
    })
  )
  const round = Effect.gen(function* () {
    yield* bell.await
    // Whoever else has something to do in this turn comes along.
    yield* Effect.yieldNow
    const jobs = waiting.splice(0, atOnce)
    if (waiting.length === 0) bell.closeUnsafe()
    const turns = Map.groupBy(jobs, ({ asksOnly }) => asksOnly)
    const writes = turns.get(false)
    const written = writes === undefined ? Effect.void : commit(file, run, writes)
    yield* Effect.uninterruptible(Effect.andThen(written, ask(file, turns.get(true) ?? [])))
  })
  yield* Effect.forkScoped(Effect.forever(round))

  const enqueued =
    (asksOnly: boolean): Database.Transact =>
    (steps) =>
      Effect.flatMap(Database.begin(run), ([transaction, hints]) =>
        Effect.callback((resume) => {
          if (closed) return resume(Effect.fail(shut))
          const job = jobOf(asksOnly, steps(transaction), resume, () => Database.notify(signals, hints))
          waiting.push(job)
          bell.openUnsafe()
          return Effect.sync(() => {
            const place = waiting.indexOf(job)
            if (place !== -1) waiting.splice(place, 1)
          })
        })
      )
  return { transact: enqueued(false), ask: enqueued(true) }
})

const shut = new FacilitatorUnavailable({ message: "the payment records are closed: this process is stopping" })

const stuck = new FacilitatorUnavailable({
  message: "the payment records cannot be asked: a transaction is not undone"
})

const jobOf = <A, E>(
  asksOnly: boolean,
  steps: Effect.Effect<A, E | SqlError>,
  resume: (effect: Effect.Effect<A, E | FacilitatorUnavailable>) => void,
  tell: () => void
): Job => {
  let outcome: Exit.Exit<A, E | FacilitatorUnavailable> = Exit.fail(shut)
  return {
    asksOnly,
    steps: Effect.map(Effect.exit(Database.inOurWords(steps)), (exit) => {
      outcome = exit
      return Exit.isSuccess(exit)
    }),
    answer: () => {
      if (Exit.isSuccess(outcome)) tell()
      resume(outcome)
    },
    refuse: (fault) => resume(Effect.fail(fault))
  }
}

/** Runs jobs that write nothing, each for itself. Inside a transaction that could not be undone they would see what is not so. */
const ask = (file: SqliteFile, jobs: ReadonlyArray<Job>): Effect.Effect<void> =>
  Effect.forEach(
    jobs,
    ({ answer, refuse, steps }) =>
      file.isTransaction() ? Effect.sync(() => refuse(stuck)) : Effect.map(steps, answer),
    { discard: true }
  )

/** Runs the jobs, commits, answers. When the commit fails nothing has happened, and everybody hears so. */
const commit = (file: SqliteFile, run: Dialect.Run, jobs: ReadonlyArray<Job>): Effect.Effect<void> =>
  Effect.matchEffect(together(run, jobs), {
    onSuccess: () =>
      Effect.sync(() => {
        for (const { answer } of jobs) answer()
      }),
    onFailure: (error) =>
      Effect.map(file.isTransaction() ? Effect.ignore(run("ROLLBACK")) : Effect.void, () => {
        for (const { refuse } of jobs) refuse(Database.unavailable(error))
      })
  })

const together = Effect.fnUntraced(function* (
  run: Dialect.Run,
  jobs: ReadonlyArray<Job>
): Effect.fn.Return<void, SqlError> {
  yield* run("BEGIN IMMEDIATE")
  for (const { steps } of jobs) {
    yield* run("SAVEPOINT job")
    // SQLite itself undoes the whole transaction on some faults; then there is no such savepoint, and the whole fails.
    if (!(yield* steps)) yield* run("ROLLBACK TO job")
    yield* run("RELEASE job")
  }
  yield* run("COMMIT")
})
