/**
 * Leases of lanes for instances that share a PostgreSQL database. Each instance holds its fair share of the lanes and
 * prolongs its leases every `tick`; whoever is silent for `ttl` has lost them, and another instance takes over under a
 * higher epoch. Nobody waits for the leases of one whose sessions the database has seen end: a process that was killed.
 *
 * A lease is held to be good for nine tenths of its time, by the monotonic clock and counted from before the question: a
 * process that was frozen or cut off finds it over before anybody else can have the lane, and does nothing more. What a
 * process had sent to the database before it froze is refused there, by the epoch.
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
 * How leases are kept. A lane is without a worker for `ttl` and `tick` together at most; `tick` is less than a third of
 * `ttl`.
 */
export interface Options {
  /** How long a silent holder keeps its lanes; default 9 seconds. */
  readonly ttl?: Duration.Input
  /** How often a holder says that it is there; default 2 seconds. */
  readonly tick?: Duration.Input
}

/** The options, checked. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  ttl: OptionCheck.optional(OptionCheck.duration),
  tick: OptionCheck.optional(OptionCheck.duration)
})

/** What the leases of one instance are made of. */
export interface Surroundings extends LeaseRows.Tenant {
  readonly database: Database
  readonly signals: Signals.Signals
  readonly announce: Announce
  readonly tickMillis: number
}

/** The topic of lanes that were given back. */
const freed = "lanes given back"

/** A stopping instance gives its lanes back, unless the database is silent for so long. */
const farewell = Duration.seconds(3)

/** The service. */
export const make = (surroundings: Surroundings): LaneLeases.LaneLeases["Service"] =>
  LaneLeases.LaneLeases.of({
    work: (lanes, run, of) =>
      lanes.length === 0
        ? Effect.never
        : Effect.scoped(shift(surroundings, [...new Set(lanes)].toSorted(), run, of === "orphaned"))
  })

/** A lane that this instance works, or is just ceasing to work. */
interface Held {
  readonly epoch: number
  /** By the monotonic clock, in nanoseconds. */
  deadline: bigint
  /** `over`: nothing more may be done. `done`: nothing more is being done. */
  state: "working" | "over" | "done"
  fiber: Fiber.Fiber<void> | undefined
}

/** One call of `work`. */
interface Shift extends Surroundings {
  readonly lanes: ReadonlyArray<string>
  readonly held: Map<string, Held>
  /** Lanes of signers that this instance does not have: they are anybody else's first. */
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

/** Prolongs, gives up, takes: everything that is to be done in a tick. */
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
  // A lane may be ours without our knowing: the answer to the take was lost.
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
 * How many of its lanes are an instance's part: of each lane as much as of each other instance that would work it.
 * Instances with the same lanes come out with the same number, rounded up.
 */
const shareOf = (lanes: ReadonlyArray<string>, members: ReadonlyMap<string, number>): number =>
  Math.ceil(lanes.reduce((sum, lane) => sum + 1 / Math.max(1, members.get(lane) ?? 1), 0) - 1e-9)

/** Lanes that others would work too, those first that the most would. */
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

/** Ends the work in lanes, and waits until nothing is done in them any more. */
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

/** Work whose time is over while the database is silent ends now. */
const stopOverdue = ({ clock, held }: Shift): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const one of held.values()) {
      if (one.state !== "working" || clock.monotonicTimeNanosUnsafe() < one.deadline) continue
      one.state = "over"
      one.fiber?.interruptUnsafe()
    }
  })

/** Lanes whose work has come to its end are anybody's, this instance's too. */
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
