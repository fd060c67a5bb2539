/**
 * G9: several facilitators on one database share their signers. One that is killed or frozen is replaced in time, and one
 * that wakes does nothing in lanes that are another's by then.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { recoverTransactionAddress } from "viem"

import * as LaneOwners from "../audit/LaneOwners.ts"
import * as RpcChaos from "../faults/RpcChaos.ts"
import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialDatabase } from "../world/TrialDatabase.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

const usualRounds = 10
const signers = 4
/**
 * How lanes are leased, in milliseconds. A lane is without a worker for so long as `ttl` and `tick` together at most, and
 * `slack` for a machine that is busy with other things.
 */
export interface Leasing {
  readonly ttl: number
  readonly tick: number
  readonly slack: number
}

/** As the product leases. The trial looks ten times a second. */
const usualLeasing: Leasing = { ttl: 10_000, tick: 2_000, slack: 250 }
/** Sleep of a frozen instance, in percent of its leases' lifetime. */
const frozenPercent = 160
/** Time that a woken instance is watched, in milliseconds. */
const watchedMillis = 4_000

/** Time after which a statement that was under way at the strike has ended, in milliseconds; no lease has ended by then. */
const recordMillis = 500

/** No lane goes to another worker and back in so short a time; milliseconds. */
const handoverMillis = 1_000

/** An instance, and the line that everything it sends goes through. */
interface Instance {
  readonly life: FacilitatorLife
  readonly line: RpcChaos.RpcChaos
}

/** Where strikes happen. */
interface Scene {
  readonly world: TrialWorld.TrialWorld
  readonly database: TrialDatabase
  readonly all: ReadonlyArray<Instance>
  readonly samples: ReadonlyArray<LaneOwners.LaneSample>
  /** Time that an instance is frozen, and wait after a kill, in milliseconds. */
  readonly sleepMillis: number
}

/** The result of a strike. */
interface Strike {
  readonly kind: "kill" | "freeze"
  /** The longest time that a lane was without a worker, in milliseconds. */
  readonly gap: number
  readonly acts: number
}

/** Runs the trial with this number of instances; its size counts the strikes. */
export const run = (instances: number, { slack, ...leases }: Leasing = usualLeasing) =>
  Effect.fnUntraced(function* (options: TrialOptions): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
    const rounds = options.size ?? usualRounds
    const world = yield* TrialWorld.make({ ...options, store: "postgres" }, { leases, signers })
    const { database } = world
    if (database === undefined) return yield* Effect.die(new Error("this trial has a database"))
    const all = yield* Effect.forEach(Array.from({ length: instances }), (_, index) => start(world, index))
    const samples = yield* LaneOwners.watch(database)
    const scene: Scene = { world, database, all, samples, sleepMillis: (leases.ttl * frozenPercent) / 100 }
    const urls = all.map(({ life }) => life.url)
    const outcome = yield* TrialAct.underLoad(
      world,
      { facilitators: [urls[0] ?? "", ...urls.slice(1)], concurrency: 32, payments: rounds * 20 },
      Effect.forEach(Array.from({ length: rounds }), (_, round) => strike(scene, round))
    )
    const strikes = outcome.result
    const gap = Math.max(...strikes.map((one) => one.gap))
    const acts = strikes.reduce((sum, one) => sum + one.acts, 0)
    const shared = yield* sharedActs(all)
    const broken: ReadonlyArray<Broken> = [
      ...(shared > 0
        ? [{ check: "shared-lane", detail: `two instances sent ${shared} times in one lane at once` }]
        : []),
      ...(gap > leases.ttl + leases.tick + slack
        ? [{ check: "failover", detail: `a lane had no worker for ${Math.round(gap)} ms` }]
        : []),
      ...(acts > 0
        ? [{ check: "woken-act", detail: `woken instances sent ${acts} transactions in others' lanes` }]
        : [])
    ]
    return {
      goal: `G9-${instances}`,
      title: `${instances} instances on one database, killed and frozen in turn`,
      options: { ...options, store: "postgres" },
      figures: {
        kills: strikes.filter(({ kind }) => kind === "kill").length,
        freezes: strikes.filter(({ kind }) => kind === "freeze").length,
        "longest failover, ms": Math.round(gap),
        "acts of woken instances": acts,
        "acts in one lane at once": shared,
        ...TrialAct.figures(outcome)
      },
      findings: [...broken, ...outcome.findings]
    }
  })

const start = Effect.fnUntraced(function* (world: TrialWorld.TrialWorld, index: number) {
  const line = yield* RpcChaos.make({ upstream: world.chain.rpcUrl, random: world.random.branch(`line${index}`) })
  const life = yield* world.facilitator({ rpcUrl: line.url })
  yield* life.listening
  return { life, line } satisfies Instance
})

/** Kills or freezes one instance, and waits until its lanes have another worker. */
const strike = Effect.fnUntraced(function* (
  { all, database, samples, sleepMillis, world }: Scene,
  round: number
): Effect.fn.Return<Strike> {
  const luck = world.random.branch(`round${round}`)
  yield* settledDown(database)
  yield* Effect.sleep(luck.between(500, 3_000))
  const victim = luck.pick(all)
  const kind = round % 2 === 0 ? "freeze" : "kill"
  yield* victim.life.signal(kind === "kill" ? "SIGKILL" : "SIGSTOP")
  const began = performance.now()
  // After this wait the victim's last statements are on record, and its leases end as the records say.
  yield* Effect.sleep(recordMillis)
  const before = yield* LaneOwners.sample(database)
  yield* Effect.sleep(sleepMillis)
  yield* Effect.ignore(Effect.timeout(allOwned(database), sleepMillis))
  // The watcher may have no sample since the last lane was taken.
  const seen = [...samples, yield* LaneOwners.sample(database)]
  const changes = LaneOwners.changes(before, seen, began)
  const gap = Math.max(0, ...changes.map(({ idleMillis }) => idleMillis))
  if (kind === "kill") return { kind, gap, acts: 0 }
  const woken = performance.now()
  yield* victim.life.signal("SIGCONT")
  yield* Effect.sleep(watchedMillis)
  const owner = changes.find(({ isStruck, to }) => isStruck && to !== undefined)?.from
  const acts = owner === undefined ? 0 : yield* actsOf(victim, samples, owner, woken)
  return { kind, gap, acts }
})

const lookUntil = (database: TrialDatabase, until: (sample: LaneOwners.LaneSample) => boolean): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.repeat(Effect.andThen(Effect.sleep(200), LaneOwners.sample(database)), { until: (one) => until(one) })
  )

/** Every lane has a worker. */
const allOwned = (database: TrialDatabase) => lookUntil(database, ({ owners }) => owners.size === signers)

/** Every lane has a worker, and they are shared. */
const settledDown = (database: TrialDatabase) =>
  lookUntil(database, ({ owners }) => owners.size === signers && new Set(owners.values()).size > 1)

/** The transactions that an instance has sent, with their signers. */
const signedOf = ({ line }: Instance) =>
  Effect.forEach(line.broadcasts, ({ at, bytes }) =>
    Effect.map(
      Effect.promise(() => recoverTransactionAddress({ serializedTransaction: bytes })),
      (signer) => ({ at, signer })
    )
  )

/** The transactions that a woken instance has sent in lanes that certainly belonged to another. */
const actsOf = (
  victim: Instance,
  samples: ReadonlyArray<LaneOwners.LaneSample>,
  owner: string,
  woken: number
): Effect.Effect<number> =>
  Effect.map(
    signedOf(victim),
    (sent) => sent.filter(({ at, signer }) => at >= woken && LaneOwners.isAnothers(samples, signer, owner, at)).length
  )

/** Number of times that an instance has sent in a lane right before and right after another one did. */
const sharedActs = Effect.fnUntraced(function* (all: ReadonlyArray<Instance>) {
  const sent = yield* Effect.forEach(all, (instance, index) =>
    Effect.map(signedOf(instance), (acts) => acts.map(({ at, signer }) => ({ at, signer, index })))
  )
  const acts = sent.flat().toSorted((one, other) => one.at - other.at)
  const lanes = [...Map.groupBy(acts, ({ signer }) => signer).values()]
  return lanes.reduce((sum, lane) => sum + lane.filter((_, place) => isBetween(lane, place)).length, 0)
})

interface Act {
  readonly at: number
  readonly index: number
}

const isBetween = (lane: ReadonlyArray<Act>, place: number): boolean => {
  const [before, act, after] = [lane[place - 1], lane[place], lane[place + 1]]
  if (before === undefined || act === undefined || after === undefined) return false
  return before.index === after.index && act.index !== before.index && after.at - before.at < handoverMillis
}
