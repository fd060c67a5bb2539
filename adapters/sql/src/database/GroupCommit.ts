/**
 * Many operations, one commit. A commit waits for the disk, and the event loop stands still for it; so the operations that
 * arrive in one turn of the event loop are run one after another in one transaction, and all are answered after its commit;
 * what fails of them is undone alone. After a commit there is a pause as many times as long as the commit itself: what may
 * wait gathers meanwhile and shares the next one, so that under load the loop stands still for a part of the time only.
 * What nobody waits for lingers a little longer still, until there is company. On a file at rest nothing waits, and what is
 * `transact`ed waits never: it takes along whatever does. Questions run after the commit of their turn, outside of it: what
 * they see is durable, and a turn without writes has no transaction at all.
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
import * as Database from "./Database.ts"
import * as SqlDialect from "./SqlDialect.ts"

/** Whether an operation only asks, writes at once, or writes when it is convenient, soon or a little later. */
type Kind = "query" | "transact" | "batch" | "defer"

/** An operation that waits: its steps, which tell whether they are to be kept, and its answer. */
interface Job {
  readonly kind: Kind
  readonly steps: Effect.Effect<boolean>
  /** Why the records could not be asked in its steps; `undefined` when they could. */
  readonly trouble: () => FacilitatorUnavailable | undefined
  readonly answer: () => void
  readonly refuse: (fault: FacilitatorUnavailable) => void
}

/** So many in one transaction: the event loop stands still for them. */
const atOnce = 256

/** A pause is so many times as long as the commit before it. */
const pauseFactor = 4

/** Milliseconds: no pause is longer, however slow the disk. */
const longestPause = 10

/** So many milliseconds after a pause what lingers has waited long enough. */
const lingering = 10

/** Who waits after a commit: first all that may, then those alone for whom nobody waits. */
const all: ReadonlySet<Kind> = new Set(["batch", "defer"])
const patient: ReadonlySet<Kind> = new Set(["defer"])
const nobody: ReadonlySet<Kind> = new Set()

/** The transactions of a file, and its questions. */
export const make = Effect.fnUntraced(function* (
  file: SqliteFile,
  signals: Signals.Signals,
  image: RecordImage
): Effect.fn.Return<Required<Omit<Database.Database, "dialect" | "inspect">>, never, Scope.Scope> {
  const run = Database.runOn(SqlDialect.sqlite, SqlDialect.sqlite.text)(file.connection, file.write)
  const guarded = guarding()
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
  /** Its second half ends where another one begins. */
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
    // Whoever else has something to do in this turn comes along.
    yield* Effect.yieldNow
    bell.closeUnsafe()
    const isTime = writes.some(isDue)
    const committing = isTime ? guarded({ file, image, run }, writes.splice(0, atOnce)) : Effect.succeed(0)
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
  /** Whether all that can be seen at this moment is durable. */
  const isAtRest = () => !closed && !file.isTransaction() && image.isDurable()
  return {
    image,
    now: Clock.currentTimeMillis,
    transact: enqueued("transact"),
    batch: enqueued("batch"),
    defer: enqueued("defer"),
    query: enqueued("query"),
    recall: (paymentId) => (isAtRest() ? image.find(paymentId) : undefined),
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

/** Runs jobs that write nothing, each for itself. Inside a transaction that could not be undone they would see what is not so. */
const ask = (file: SqliteFile, jobs: ReadonlyArray<Job>): Effect.Effect<void> =>
  Effect.forEach(
    jobs,
    ({ answer, refuse, steps }) =>
      file.isTransaction() ? Effect.sync(() => refuse(stuck)) : Effect.map(steps, answer),
    { discard: true }
  )

/** The file, what is remembered of it, and what runs statements on it. */
interface Context {
  readonly file: SqliteFile
  readonly image: RecordImage
  readonly run: SqlDialect.Run
}

/**
 * Runs jobs on a file that is in its place, and refuses them on one that is not: looked at before each commit and before its
 * answers, and told in the log once.
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
 * Runs the jobs, commits, answers; tells how many milliseconds it was before the answers. When the commit fails nothing has
 * happened, and everybody hears so.
 */
const commit = Effect.fnUntraced(function* (context: Context, jobs: ReadonlyArray<Job>): Effect.fn.Return<number> {
  const began = yield* Clock.monotonicTimeNanos
  const outcome = yield* Effect.result(written(context, jobs))
  const nanos = (yield* Clock.monotonicTimeNanos) - began
  if (Result.isSuccess(outcome)) {
    context.image.commit()
    const lost = context.file.misplaced()
    for (const { answer, refuse } of jobs) {
      if (lost === undefined) answer()
      else refuse(Database.unavailableBecause(lost))
    }
  } else {
    yield* undo(context)
    const { failure } = outcome
    for (const { refuse } of jobs) refuse(isSqlError(failure) ? Database.unavailable(failure) : failure)
  }
  return Number(nanos) / 1e6
})

/**
 * Savepoints copy every page that is changed, and hardly ever is one gone back to: jobs that all succeed need none. When one
 * of them fails, nothing has happened yet, and they run again, each in a savepoint of its own.
 */
const written = (context: Context, jobs: ReadonlyArray<Job>): Effect.Effect<void, SqlError | FacilitatorUnavailable> =>
  Effect.flatMap(together(context, jobs), (succeeded) =>
    succeeded ? Effect.void : Effect.andThen(undo(context), apart(context, jobs))
  )

/** Runs jobs in one transaction. When one fails, nothing is committed. */
const together = Effect.fnUntraced(function* (
  { image, run }: Context,
  jobs: ReadonlyArray<Job>
): Effect.fn.Return<boolean, SqlError> {
  yield* run("BEGIN IMMEDIATE")
  image.begin()
  for (const { steps } of jobs) if (!(yield* steps)) return false
  yield* run("COMMIT")
  return true
})

/** Runs jobs in one transaction. What fails is undone alone. */
const apart = Effect.fnUntraced(function* (
  { file, image, run }: Context,
  jobs: ReadonlyArray<Job>
): Effect.fn.Return<void, SqlError | FacilitatorUnavailable> {
  yield* run("BEGIN IMMEDIATE")
  image.begin()
  for (const { steps, trouble } of jobs) {
    yield* run("SAVEPOINT job")
    const before = image.savepoint()
    if (!(yield* steps)) {
      // SQLite itself undoes the whole transaction on some faults, a full disk among them; then the whole fails for that.
      const fault = trouble()
      if (fault !== undefined && !file.isTransaction()) return yield* fault
      image.rollbackTo(before)
      yield* run("ROLLBACK TO job")
    }
    yield* run("RELEASE job")
  }
  yield* run("COMMIT")
})

const undo = ({ file, image, run }: Context): Effect.Effect<void> =>
  Effect.suspend(() => {
    image.rollback()
    return file.isTransaction() ? Effect.ignore(run("ROLLBACK")) : Effect.void
  })
