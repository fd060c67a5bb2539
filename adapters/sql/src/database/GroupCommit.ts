/**
 * Many operations, one commit. A commit waits for the disk and blocks the event loop. Operations that arrive in one
 * turn of the event loop therefore run in one transaction, one after another; all are answered after its commit, and a
 * failed one is rolled back alone.
 *
 * Each commit is followed by a pause of several times the duration of its wait for the disk; the operations' own work is not
 * saved by waiting. Operations of the kind `batch` wait for the end of the pause and share the next commit, so under load the
 * disk blocks the loop only part of the time. Operations of the
 * kind `defer`, for which no caller waits, wait a little longer. On an idle file nothing waits. A `transact` never
 * waits and takes all waiting operations along.
 *
 * Queries run after the commit of their turn and outside of it: they see durable data only, and a turn without writes
 * needs no transaction.
 */
import type { Signals } from "@pontage/core"
import { FacilitatorUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import type { RecordImage } from "../sqlite/RecordImage.ts"
import type { SqliteFile } from "../sqlite/SqliteFile.ts"
import * as TransactionImage from "../sqlite/TransactionImage.ts"
import * as Database from "./Database.ts"
import * as SqlDialect from "./SqlDialect.ts"

/** How urgent an operation is: a read, a write at once, a write after the pause, or a write a little later still. */
type Kind = "query" | "transact" | "batch" | "defer"

/** A queued operation. `steps` returns whether its writes are to be kept; `answer` resumes its caller. */
interface Job {
  readonly kind: Kind
  readonly steps: Effect.Effect<boolean>
  /** The reason its steps could not reach the records; `undefined` when they could. */
  readonly trouble: () => FacilitatorUnavailable | undefined
  readonly answer: () => void
  readonly refuse: (fault: FacilitatorUnavailable) => void
}

/** Maximum number of operations in one transaction: the event loop is blocked while they run. */
const atOnce = 256

/** Duration of a pause, as a multiple of the time for which the preceding commit waited for the disk. */
const pauseFactor = 4

/** Longest pause in milliseconds, however slow the disk is. */
const longestPause = 10

/** Extra wait of a deferred operation after a pause, in milliseconds. */
const lingering = 10

/** The kinds that wait after a commit: first both, then the deferred ones alone. */
const all: ReadonlySet<Kind> = new Set(["batch", "defer"])
const patient: ReadonlySet<Kind> = new Set(["defer"])
const nobody: ReadonlySet<Kind> = new Set()

/** The transactions and queries of a file. */
export interface Transactions extends Required<Omit<Database.Database, "dialect" | "inspect">> {
  /** Whether everything that a read would see now is durable. */
  readonly isAtRest: () => boolean
}

/** Makes the transactions and queries of a file. `more` is what memory keeps of it besides payments. */
export const make = Effect.fnUntraced(function* (
  file: SqliteFile,
  signals: Signals.Signals,
  image: RecordImage,
  more: TransactionImage.TransactionImage = TransactionImage.nothing
): Effect.fn.Return<Transactions, never, Scope.Scope> {
  const run = Database.runOn(SqlDialect.sqlite, SqlDialect.sqlite.text)(file.connection, file.write)
  const guarded = guarding()
  const images = TransactionImage.both(image, more)
  const questions: Array<Job> = []
  const writes: Array<Job> = []
  const bell = Latch.makeUnsafe()
  let closed = false
  let waiting = nobody
  let pauses = 0
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      for (const { refuse } of [...questions.splice(0), ...writes.splice(0)]) refuse(shut)
    })
  )
  const isDue = ({ kind }: Pick<Job, "kind">) => !waiting.has(kind)
  const haveWait = (kinds: ReadonlySet<Kind>) => {
    waiting = kinds
    if (writes.some(isDue)) bell.openUnsafe()
  }
  /** The wait of deferred operations ends early when another pause begins. */
  const pause = (millis: number) => {
    const mine = ++pauses
    haveWait(all)
    return Effect.gen(function* () {
      yield* Effect.sleep(millis)
      haveWait(patient)
      yield* Effect.sleep(lingering)
      if (mine === pauses) haveWait(nobody)
    })
  }
  const round = Effect.gen(function* () {
    yield* bell.await
    // Operations that start in the same turn of the event loop join this one.
    yield* Effect.yieldNow
    bell.closeUnsafe()
    const isTime = writes.some(isDue)
    const committing = isTime ? guarded({ file, images, run }, writes.splice(0, atOnce)) : Effect.succeed(0)
    const millis = (yield* Effect.uninterruptible(committing)) * pauseFactor
    yield* Effect.uninterruptible(ask(file, questions.splice(0, atOnce)))
    if (questions.length > 0 || (isTime && writes.length > 0)) bell.openUnsafe()
    // No timer is shorter than a millisecond.
    if (waiting !== all && millis >= 1) yield* Effect.forkScoped(pause(Math.min(millis, longestPause)))
  })
  yield* Effect.forkScoped(Effect.forever(round))

  const enqueued =
    (kind: Kind): Database.Transact =>
    (steps) =>
      Effect.flatMap(Database.begin(run), ([transaction, hints]) =>
        Effect.callback((resume) => {
          if (closed) return resume(Effect.fail(shut))
          const job = jobOf(kind, steps(transaction), resume, () => Database.notify(signals, hints))
          const line = kind === "query" ? questions : writes
          line.push(job)
          if (isDue(job)) bell.openUnsafe()
          return Effect.sync(() => {
            const place = line.indexOf(job)
            if (place !== -1) line.splice(place, 1)
          })
        })
      )
  const isAtRest = () => !closed && !file.isTransaction() && images.isDurable()
  return {
    isAtRest,
    image,
    now: Clock.currentTimeMillis,
    transact: enqueued("transact"),
    batch: enqueued("batch"),
    defer: enqueued("defer"),
    query: enqueued("query"),
    recall: (paymentId) => (isAtRest() ? image.find(paymentId) : undefined),
    recallOpen: (payment) => (isAtRest() ? image.payers.openPayments(payment) : undefined),
    queryNow: (text, parameters) =>
      isAtRest() ? file.glance(text, parameters.map(SqlDialect.sqlite.parameter)) : undefined
  }
})

const shut = new FacilitatorUnavailable({ message: "the payment records are closed: this process is stopping" })

const stuck = new FacilitatorUnavailable({
  message: "the payment records cannot be asked: a transaction is not undone"
})

const jobOf = <A, E>(
  kind: Kind,
  steps: Effect.Effect<A, E | SqlError>,
  resume: (effect: Effect.Effect<A, E | FacilitatorUnavailable>) => void,
  tell: () => void
): Job => {
  let outcome: Exit.Exit<A, E | FacilitatorUnavailable> = Exit.fail(shut)
  const keep = (exit: typeof outcome): boolean => {
    outcome = exit
    return Exit.isSuccess(exit)
  }
  return {
    kind,
    steps: Effect.flatMap(Effect.exit(steps), (exit) => {
      if (Exit.isSuccess(exit)) return Effect.succeed(keep(Exit.succeed(exit.value)))
      return Effect.map(Effect.exit(Database.explained(exit)), keep)
    }),
    trouble: () => {
      const error = Exit.findErrorOption(outcome)
      return Option.isSome(error) && error.value instanceof FacilitatorUnavailable ? error.value : undefined
    },
    answer: () => {
      if (Exit.isSuccess(outcome)) tell()
      resume(outcome)
    },
    refuse: (fault) => resume(Effect.fail(fault))
  }
}

/**
 * Runs reads, each by itself. Inside a transaction that could not be rolled back they would see undone writes, so they
 * are refused.
 */
const ask = (file: SqliteFile, jobs: ReadonlyArray<Job>): Effect.Effect<void> =>
  Effect.forEach(
    jobs,
    ({ answer, refuse, steps }) =>
      file.isTransaction() ? Effect.sync(() => refuse(stuck)) : Effect.map(steps, answer),
    { discard: true }
  )

/** The file, its images in memory, and the function that runs statements on it. */
interface Context {
  readonly file: SqliteFile
  readonly images: TransactionImage.TransactionImage
  readonly run: SqlDialect.Run
}

/**
 * Runs jobs while the file is in its place, and refuses them otherwise. The place is checked before each commit and
 * before its answers; a misplaced file is logged once.
 */
const guarding = () => {
  let told: string | undefined
  return Effect.fnUntraced(function* (context: Context, jobs: ReadonlyArray<Job>): Effect.fn.Return<number> {
    const lost = context.file.misplaced()
    if (lost === undefined) {
      told = undefined
      return yield* commit(context, jobs)
    }
    for (const { refuse } of jobs) refuse(Database.unavailableBecause(lost))
    if (told !== lost) yield* Effect.logError(`no payment is taken any more: ${lost}`)
    told = lost
    return 0
  })
}

/**
 * Runs the jobs, commits and answers. Returns the time for which the loop waited for the disk, in milliseconds. A failed commit has
 * written nothing, and every job is refused; all its time counts.
 */
const commit = Effect.fnUntraced(function* (context: Context, jobs: ReadonlyArray<Job>): Effect.fn.Return<number> {
  const began = yield* Clock.monotonicTimeNanos
  const outcome = yield* Effect.result(written(context, jobs))
  if (Result.isSuccess(outcome)) {
    context.images.commit()
    const lost = context.file.misplaced()
    for (const { answer, refuse } of jobs) {
      if (lost === undefined) answer()
      else refuse(Database.unavailableBecause(lost))
    }
    return Number(outcome.success) / 1e6
  }
  yield* undo(context)
  const { failure } = outcome
  for (const { refuse } of jobs) refuse(isSqlError(failure) ? Database.unavailable(failure) : failure)
  return Number((yield* Clock.monotonicTimeNanos) - began) / 1e6
})

/** Waits for the disk; returns the time that it took, in nanoseconds. */
const synced = Effect.fnUntraced(function* (run: SqlDialect.Run): Effect.fn.Return<bigint, SqlError> {
  const began = yield* Clock.monotonicTimeNanos
  yield* run("COMMIT")
  return (yield* Clock.monotonicTimeNanos) - began
})

/**
 * Savepoints copy every changed page and are rarely rolled back to. Jobs that all succeed run without any. If one
 * fails, the transaction is rolled back and all run again, each in its own savepoint. Returns the time of the commit.
 */
const written = (
  context: Context,
  jobs: ReadonlyArray<Job>
): Effect.Effect<bigint, SqlError | FacilitatorUnavailable> =>
  Effect.flatMap(together(context, jobs), (nanos) =>
    nanos === undefined ? Effect.andThen(undo(context), apart(context, jobs)) : Effect.succeed(nanos)
  )

/** Runs jobs in one transaction; returns the time of its commit, or `undefined`, uncommitted, at the first job that fails. */
const together = Effect.fnUntraced(function* (
  { images, run }: Context,
  jobs: ReadonlyArray<Job>
): Effect.fn.Return<bigint | undefined, SqlError> {
  yield* run("BEGIN IMMEDIATE")
  images.begin()
  for (const { steps } of jobs) if (!(yield* steps)) return undefined
  yield* images.flush(run)
  return yield* synced(run)
})

/** Runs jobs in one transaction, each in a savepoint; a failed job is rolled back alone. */
const apart = Effect.fnUntraced(function* (
  { file, images, run }: Context,
  jobs: ReadonlyArray<Job>
): Effect.fn.Return<bigint, SqlError | FacilitatorUnavailable> {
  yield* run("BEGIN IMMEDIATE")
  images.begin()
  for (const { steps, trouble } of jobs) {
    yield* run("SAVEPOINT job")
    const before = images.savepoint()
    if (!(yield* steps)) {
      // On some faults, a full disk among them, SQLite rolls the whole transaction back; then all jobs fail with that
      // fault.
      const fault = trouble()
      if (fault !== undefined && !file.isTransaction()) return yield* fault
      images.rollbackTo(before)
      yield* run("ROLLBACK TO job")
    }
    yield* images.flush(run)
    yield* run("RELEASE job")
  }
  return yield* synced(run)
})

const undo = ({ file, images, run }: Context): Effect.Effect<void> =>
  Effect.suspend(() => {
    images.rollback()
    return file.isTransaction() ? Effect.ignore(run("ROLLBACK")) : Effect.void
  })
