/**
 * Leases of lanes for processes that share the records of a simulation, as the ones over PostgreSQL keep them: a lease is good
 * for a time by the database's clock, and its holder believes in nine tenths of that by its own monotonic one.
 */
import { LaneLeases } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

import type { NetworkLink } from "./NetworkLink.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

/** The rows that say who holds which lane, and until when each process that has its signer would work it. */
export type LeaseRow = { owner: string; epoch: number; until: number; readonly members: Map<string, number> }

const ttlMillis = 9_000
const tickMillis = 2_000

/** The leases of a process over these rows. */
export const make = (
  rows: Map<string, LeaseRow>,
  link: NetworkLink,
  time: SimulatedTime,
  owner: string,
  instances: number
): LaneLeases.LaneLeases["Service"] =>
  LaneLeases.LaneLeases.of({
    work: (lanes, run, of) =>
      Effect.scoped(
        shift({ rows, link, time, owner, instances, lanes, run, held: new Map(), isGuest: of === "orphaned" })
      )
  })

interface Held {
  readonly epoch: number
  deadline: bigint
  isOver: boolean
  fiber: Fiber.Fiber<void> | undefined
}

interface Shift {
  readonly rows: Map<string, LeaseRow>
  readonly link: NetworkLink
  readonly time: SimulatedTime
  readonly owner: string
  /** Limit on the other instances: no instance takes more than its share while others exist. */
  readonly instances: number
  readonly lanes: ReadonlyArray<string>
  /** The lanes are of signers that this process lacks: others come first. */
  readonly isGuest: boolean
  readonly run: (lease: LaneLeases.Lease) => Effect.Effect<void>
  readonly held: Map<string, Held>
}

const shift = Effect.fnUntraced(function* (self: Shift): Effect.fn.Return<never, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const watch = Effect.suspend(() =>
    Effect.andThen(
      Effect.sleep(restOf(self, clock)),
      Effect.sync(() => {
        for (const one of self.held.values()) {
          if (one.isOver || clock.monotonicTimeNanosUnsafe() < one.deadline) continue
          one.isOver = true
          one.fiber?.interruptUnsafe()
        }
      })
    )
  )
  yield* Effect.forkScoped(Effect.forever(watch))
  const round = Effect.gen(function* () {
    const deadline = clock.monotonicTimeNanosUnsafe() + BigInt(ttlMillis * 900_000)
    const held = [...self.held.keys()]
    const mine = yield* self.link.exchange("leases", () => renewed(self, held))
    for (const [lane, one] of self.held) {
      if (mine.get(lane) === one.epoch && !one.isOver) one.deadline = deadline
      else yield* end(self, lane, one)
    }
    const left = held.filter((lane) => !mine.has(lane))
    if (self.isGuest && left.length > 0) yield* self.link.exchange("leases", () => givenBack(self, left))
    for (const [lane, epoch] of mine) {
      if (!self.held.has(lane)) yield* begin(self, scope, clock, { lane, epoch, deadline })
    }
  })
  return yield* Effect.forever(
    Effect.andThen(Effect.ignore(Effect.timeout(round, ttlMillis / 3)), Effect.sleep(tickMillis))
  )
})

/** The time until the next deadline, and at least the interval of a watch, in milliseconds. */
const restOf = ({ held }: Shift, clock: Clock.Clock): number => {
  const now = clock.monotonicTimeNanosUnsafe()
  const rests = [...held.values()].map(({ deadline, isOver }) => (isOver ? ttlMillis : Number(deadline - now) / 1e6))
  return Math.max(ttlMillis / 20, Math.min(ttlMillis * 0.9, ...rests))
}

/** A round of the database: it prolongs leases, and grants free lanes, up to the share. */
const renewed = ({ instances, isGuest, lanes, owner, rows, time }: Shift, held: ReadonlyArray<string>) => {
  const now = time.now()
  const mine = new Map<string, number>()
  const open = lanes.flatMap((lane) => {
    // The lane has had no holder yet: the other instances have as long to come as after a holder's end.
    const row = rows.get(lane) ?? { owner: "", epoch: 0, until: now, members: new Map<string, number>() }
    rows.set(lane, row)
    if (!isGuest) row.members.set(owner, now + ttlMillis)
    const isOthers = isGuest && [...row.members.values()].some((until) => until > now)
    return isOthers ? [] : [{ lane, row }]
  })
  for (const { lane, row } of open) {
    if (row.owner !== owner || row.until <= now) continue
    row.until = now + ttlMillis
    mine.set(lane, row.epoch)
  }
  const share = isGuest ? 0 : Math.ceil(lanes.length / instances)
  for (const { lane, row } of open) {
    if (row.until > now || held.includes(lane)) continue
    if (mine.size >= share && row.until > now - ttlMillis) continue
    Object.assign(row, { owner, epoch: row.epoch + 1, until: now + ttlMillis })
    mine.set(lane, row.epoch)
  }
  return mine
}

/** Frees lanes that a process with their signer would work. */
const givenBack = ({ owner, rows, time }: Shift, lanes: ReadonlyArray<string>): void => {
  const now = time.now()
  for (const lane of lanes) {
    const row = rows.get(lane)
    if (row?.owner === owner && row.until > now) row.until = now
  }
}

const begin = Effect.fnUntraced(function* (
  { held, run }: Shift,
  scope: Scope.Scope,
  clock: Clock.Clock,
  { deadline, epoch, lane }: { readonly lane: string; readonly epoch: number; readonly deadline: bigint }
) {
  const one: Held = { epoch, deadline, isOver: false, fiber: undefined }
  held.set(lane, one)
  const isValid = () => !one.isOver && clock.monotonicTimeNanosUnsafe() < one.deadline
  one.fiber = yield* Effect.forkIn(run({ lane, epoch, isValid }), scope)
})

const end = ({ held }: Shift, lane: string, one: Held): Effect.Effect<void> => {
  one.isOver = true
  const stop = one.fiber === undefined ? Effect.void : Fiber.interrupt(one.fiber)
  return Effect.andThen(
    stop,
    Effect.sync(() => {
      if (held.get(lane) === one) held.delete(lane)
    })
  )
}
