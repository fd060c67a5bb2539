/**
 * G9: several facilitators on one database share their signers. One that is killed or frozen is replaced in time, and one
 * that wakes does nothing in lanes that are another's by then.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { recoverTransactionAddress } from "viem"

import type { FacilitatorLife } from "./FacilitatorLife.ts"
import * as LaneOwners from "./LaneOwners.ts"
import * as RpcChaos from "./RpcChaos.ts"
import * as TrialAct from "./TrialAct.ts"
import type { TrialDatabase } from "./TrialDatabase.ts"
import type { TrialOptions } from "./TrialOptions.ts"
import type { Broken, TrialReport } from "./TrialReport.ts"
import * as TrialWorld from "./TrialWorld.ts"

const usualRounds = 10
const signers = 4
/** A lane is without a worker for so long at most; milliseconds. */
const promised = 12_000
/** How the product leases. */
const leases = { ttl: 10_000, tick: 2_000 }
/** A frozen instance sleeps longer than its leases live. */
const frozenMillis = 16_000
/** A woken one is watched for so long. */
const watchedMillis = 4_000

/** An instance, and the line that everything it sends goes through. */
interface Instance {
  readonly life: FacilitatorLife
  readonly line: RpcChaos.RpcChaos
}

/** What a strike has shown. */
interface Strike {
  readonly kind: "kill" | "freeze"
  /** How long lanes were without a worker, at most; milliseconds. */
  readonly gap: number
  readonly acts: number
}

/**
 * Runs the trial with so many instances; its size counts the strikes.
 *
 * @category trials
 */
export const run = (instances: number) =>
  Effect.fnUntraced(function* (options: TrialOptions): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
    const rounds = options.size ?? usualRounds
    const world = yield* TrialWorld.make({ ...options, store: "postgres" }, { leases, signers })
    const { database } = world
    if (database === undefined) return yield* Effect.die(new Error("this trial has a database"))
    const all = yield* Effect.forEach(Array.from({ length: instances }), (_, index) => start(world, index))
    const samples = yield* LaneOwners.watch(database)
    const urls = all.map(({ life }) => life.url)
    const outcome = yield* TrialAct.underLoad(
      world,
      { facilitators: [urls[0] ?? "", ...urls.slice(1)], concurrency: 16, payments: rounds * 20 },
      Effect.forEach(Array.from({ length: rounds }), (_, round) => strike(world, database, all, samples, round))
    )
    const strikes = outcome.result
    const gap = Math.max(...strikes.map((one) => one.gap))
    const acts = strikes.reduce((sum, one) => sum + one.acts, 0)
    const broken: ReadonlyArray<Broken> = [
      ...(gap > promised ? [{ check: "failover", detail: `a lane had no worker for ${Math.round(gap)} ms` }] : []),
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
  world: TrialWorld.TrialWorld,
  database: TrialDatabase,
  all: ReadonlyArray<Instance>,
  samples: ReadonlyArray<LaneOwners.LaneSample>,
  round: number
): Effect.fn.Return<Strike> {
  const luck = world.random.branch(`round${round}`)
  yield* settledDown(database)
  yield* Effect.sleep(luck.between(500, 3_000))
  const victim = luck.pick(all)
  const kind = round % 2 === 0 ? "freeze" : "kill"
  const before = yield* LaneOwners.sample(database)
  yield* victim.life.signal(kind === "kill" ? "SIGKILL" : "SIGSTOP")
  const began = performance.now()
  yield* Effect.sleep(frozenMillis)
  const lost = lostLanes(before, samples, began)
  const gap = Math.max(0, ...lost.map(({ takenAfter }) => takenAfter))
  if (kind === "kill") return { kind, gap, acts: 0 }
  const woken = performance.now()
  yield* victim.life.signal("SIGCONT")
  yield* Effect.sleep(watchedMillis)
  const owner = lost[0]?.owner
  const acts = owner === undefined ? 0 : yield* actsOf(victim, samples, owner, woken)
  return { kind, gap, acts }
})

/** Every lane has a worker, and they are shared. */
const settledDown = (database: TrialDatabase): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.repeat(Effect.andThen(Effect.sleep(200), LaneOwners.sample(database)), {
      until: ({ owners }) => owners.size === signers && new Set(owners.values()).size > 1
    })
  )

interface LostLane {
  readonly owner: string
  /** Milliseconds from the strike until another had it; for ever, if nobody had. */
  readonly takenAfter: number
}

/** The lanes that changed hands after a strike were the victim's. Fair shares change hands too, but not this soon. */
const lostLanes = (
  before: LaneOwners.LaneSample,
  samples: ReadonlyArray<LaneOwners.LaneSample>,
  began: number
): ReadonlyArray<LostLane> =>
  [...before.owners].flatMap(([signer, owner]) => {
    const later = samples.filter(({ at }) => at > began)
    if (later.every(({ owners }) => owners.get(signer) === owner)) return []
    const taken = later.find(({ owners }) => owners.has(signer) && owners.get(signer) !== owner)
    return { owner, takenAfter: taken === undefined ? Number.POSITIVE_INFINITY : taken.at - began }
  })

/** What a woken instance has sent for lanes that were certainly another's. */
const actsOf = Effect.fnUntraced(function* (
  { line }: Instance,
  samples: ReadonlyArray<LaneOwners.LaneSample>,
  owner: string,
  woken: number
) {
  const sent = line.broadcasts.filter(({ at }) => at >= woken)
  const signed = yield* Effect.forEach(sent, ({ at, bytes }) =>
    Effect.map(
      Effect.promise(() => recoverTransactionAddress({ serializedTransaction: bytes })),
      (signer) => ({ at, signer })
    )
  )
  return signed.filter(({ at, signer }) => LaneOwners.isAnothers(samples, signer, owner, at)).length
})
