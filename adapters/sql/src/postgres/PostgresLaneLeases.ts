/**
 * Leases of lanes for instances that share a PostgreSQL database. Each instance holds its fair share of the lanes and
 * renews its leases every `tick`. An instance that is silent for `ttl` loses them, and another takes over under a
 * higher epoch. If the database has seen an instance's sessions end, for example of a killed process, its leases are
 * free at once.
 *
 * A holder trusts its lease for nine tenths of its duration, by the monotonic clock, counted from before the request. A
 * frozen or disconnected process therefore stops before another can hold the lane, and the epoch refuses what it had
 * sent to the database before it froze.
 */
import { LaneLeases, OptionCheck, type Signals } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

import type { Database } from "../database/Database.ts"
import type { Run } from "../database/SqlDialect.ts"
import * as LeaseRows from "../records/LeaseRows.ts"
import type { RecordFault } from "../records/Records.ts"
import type { Announce } from "./PostgresSignals.ts"

/**
 * The timing of leases. A lane is without a worker for `ttl` plus `tick` at most; `tick` is less than a third of `ttl`.
 */
export interface Options {
  /** Duration of a lease without a renewal; default 9 seconds. */
  readonly ttl?: Duration.Input
  /** Interval of renewals; default 2 seconds. */
  readonly tick?: Duration.Input
}

/** The options, checked. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  ttl: OptionCheck.optional(OptionCheck.duration),
  tick: OptionCheck.optional(OptionCheck.duration)
})

/** The dependencies of one instance's leases. */
export interface Surroundings extends LeaseRows.Tenant {
  readonly database: Database
  readonly signals: Signals.Signals
  readonly announce: Announce
  readonly tickMillis: number
}

/** The topic of lanes that were given back. */
const freed = "lanes given back"

/** Timeout of a stopping instance for giving its lanes back. */
const farewell = Duration.seconds(3)

/** The service. */
export const make = (surroundings: Surroundings): LaneLeases.LaneLeases["Service"] =>
  LaneLeases.LaneLeases.of({
    work: (lanes, run, of) =>
      lanes.length === 0
        ? Effect.never
        : Effect.scoped(shift(surroundings, [...new Set(lanes)].toSorted(), run, of === "orphaned"))
  })

/** A lane that this instance works, or whose work is ending. */
interface Held {
  readonly epoch: number
  /** Monotonic time in nanoseconds. */
  deadline: bigint
  /** `over`: no more work may start. `done`: no work is running. */
  state: "working" | "over" | "done"
  fiber: Fiber.Fiber<void> | undefined
}

/** One call of `work`. */
interface Shift extends Surroundings {
  readonly lanes: ReadonlyArray<string>
  readonly held: Map<string, Held>
  /** The lanes are of signers that this instance lacks: other instances come first. */
  readonly isGuest: boolean
  readonly clock: Clock.Clock
  readonly run: (lease: LaneLeases.Lease) => Effect.Effect<void>
  readonly scope: Scope.Scope
}

const shift = Effect.fnUntraced(function* (
  surroundings: Surroundings,
  lanes: ReadonlyArray<string>,
  run: Shift["run"],
  isGuest: boolean
): Effect.fn.Return<never, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const self: Shift = { ...surroundings, lanes, held: new Map(), isGuest, clock, run, scope: yield* Effect.scope }
  const { database, signals, tickMillis, ttlMillis } = surroundings
  yield* Effect.addFinalizer(() => goodbye(self))
  const ear = yield* signals.listen(freed)
  const watch = Effect.andThen(Effect.sleep(Duration.millis(ttlMillis / 20)), stopOverdue(self))
  yield* Effect.forkScoped(Effect.forever(watch))
  const next = Effect.raceFirst(ear.next, Effect.sleep(Duration.millis(tickMillis)))
  let isPrepared = false
  const step = database.query(({ run: statement }) =>
    Effect.gen(function* () {
      if (!isPrepared) yield* LeaseRows.prepare(statement, lanes)
      isPrepared = true
      yield* round(self, statement)
    })
  )
  return yield* Effect.forever(
    Effect.andThen(
      Effect.catch(Effect.timeout(step, Duration.millis(ttlMillis / 3)), (error) =>
        Effect.logWarning("the leases of lanes were not prolonged", error.message)
      ),
      next
    )
  )
})

/** One tick: renews, gives back and takes leases. */
const round = Effect.fnUntraced(function* (self: Shift, run: Run): Effect.fn.Return<void, RecordFault> {
  const { clock, held, isGuest, lanes, ttlMillis } = self
  const deadline = clock.monotonicTimeNanosUnsafe() + BigInt(Math.floor(ttlMillis * 900_000))
  const members = yield* isGuest ? LeaseRows.members(run, lanes) : LeaseRows.attend(run, self, lanes)
  yield* clearAway(self, run)
  if (isGuest)
    yield* giveBack(
      self,
      run,
      [...held.keys()].filter((lane) => members.has(lane))
    )
  const ending = new Set([...held].filter(([, { state }]) => state !== "working").map(([lane]) => lane))
  const candidates = lanes.filter((lane) => !ending.has(lane) && !(isGuest && members.has(lane)))
  const mine = yield* LeaseRows.renew(run, self, candidates)
  for (const [lane, one] of held) if (mine.get(lane) === one.epoch) one.deadline = deadline
  yield* stop(
    self,
    [...held.keys()].filter((lane) => mine.get(lane) !== held.get(lane)?.epoch)
  )
  // A lane may be ours unknown to us: the response to the take was lost.
  for (const [lane, epoch] of mine) if (!held.has(lane)) yield* start(self, lane, epoch, deadline)

  const room = isGuest ? 0 : shareOf(lanes, members) - mine.size
  if (room < 0) return yield* giveBack(self, run, crowded([...mine.keys()], members).slice(0, -room))
  const free = candidates.filter((lane) => !mine.has(lane))
  if (free.length === 0) return
  const taken = room > 0 ? yield* LeaseRows.take(run, self, free, room) : new Map<string, number>()
  const adopted = yield* LeaseRows.adopt(run, self, free)
  for (const [lane, epoch] of [...taken, ...adopted]) yield* start(self, lane, epoch, deadline)
})

/**
 * An instance's fair share of its lanes: the sum over its lanes of one divided by the number of instances registered
 * for each, rounded up. Instances with the same lanes get the same share.
 */
const shareOf = (lanes: ReadonlyArray<string>, members: ReadonlyMap<string, number>): number =>
  Math.ceil(lanes.reduce((sum, lane) => sum + 1 / Math.max(1, members.get(lane) ?? 1), 0) - 1e-9)

/** Lanes that other instances are registered for too, those with the most first. */
const crowded = (lanes: ReadonlyArray<string>, members: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  lanes.filter((lane) => (members.get(lane) ?? 1) > 1).toSorted((a, b) => (members.get(b) ?? 1) - (members.get(a) ?? 1))

const start = Effect.fnUntraced(function* (self: Shift, lane: string, epoch: number, deadline: bigint) {
  const { clock, held, run, scope } = self
  const one: Held = { epoch, deadline, state: "working", fiber: undefined }
  held.set(lane, one)
  const isValid = () => one.state === "working" && clock.monotonicTimeNanosUnsafe() < one.deadline
  const work = Effect.catchCause(run({ lane, epoch, isValid }), (cause) =>
    Effect.logError(`the work in the lane ${lane} broke off`, cause)
  )
  const ended = Effect.sync(() => {
    one.state = "done"
  })
  one.fiber = yield* Effect.forkIn(Effect.ensuring(work, ended), scope)
})

/** Interrupts the work in lanes and waits for its end. */
const stop = ({ held }: Shift, lanes: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.forEach(
    lanes,
    (lane) => {
      const one = held.get(lane)
      if (one?.state === "working") one.state = "over"
      return one?.fiber === undefined
        ? Effect.void
        : Effect.map(Fiber.interrupt(one.fiber), () => {
            if (held.get(lane) === one) held.delete(lane)
          })
    },
    { concurrency: "unbounded", discard: true }
  )

/** Interrupts work whose lease is over while the database does not respond. */
const stopOverdue = ({ clock, held }: Shift): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const one of held.values()) {
      if (one.state !== "working" || clock.monotonicTimeNanosUnsafe() < one.deadline) continue
      one.state = "over"
      one.fiber?.interruptUnsafe()
    }
  })

/** Releases lanes whose work has ended; any instance may take them, this one too. */
const clearAway = (self: Shift, run: Run): Effect.Effect<void, RecordFault> => {
  const done = [...self.held].filter(([, { state }]) => state === "done").map(([lane]) => lane)
  if (done.length === 0) return Effect.void
  for (const lane of done) self.held.delete(lane)
  return Effect.asVoid(LeaseRows.release(run, self, done))
}

const giveBack = Effect.fnUntraced(function* (
  self: Shift,
  run: Run,
  lanes: ReadonlyArray<string>
): Effect.fn.Return<void, RecordFault> {
  if (lanes.length === 0) return
  yield* stop(self, lanes)
  yield* LeaseRows.release(run, self, lanes)
  yield* self.announce(run, [freed])
})

const goodbye = (self: Shift): Effect.Effect<void> =>
  self.database
    .query(({ run }) =>
      Effect.gen(function* () {
        yield* LeaseRows.release(run, self, self.lanes)
        yield* LeaseRows.leave(run, self, self.lanes)
        yield* self.announce(run, [freed])
      })
    )
    .pipe(Effect.interruptible, Effect.timeout(farewell), Effect.ignore)
