/**
 * G2: every place in the life of a payment where a crash, a defect or a hang may cut it is a safe place. The places are
 * the checkpoints in the code, all of them.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as PaymentBooks from "../audit/PaymentBooks.ts"
import { isOver as isEnd } from "../audit/PaymentStory.ts"
import { everyFailpoint, type Failpoint, failpointActions, seriesToText, toText } from "../faults/Failpoint.ts"
import * as ChainWeather from "../world/ChainWeather.ts"
import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as TrialLoad from "../world/TrialLoad.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

const payments = 8
const buyers = 4
/** More than usual are claimed before they are settled: a payment is put into a queue only then. */
const mix = { unclaimed: 200, afterHandler: 400, copied: 100 }
/** Worlds that run side by side: each waits for blocks most of the time. */
const sideBySide = 4
const usualHang = 30_000

/** Checkpoints of callers, their claims and their payments' way into a lane: a push of a delivery passes the others. */
const ofCallers: ReadonlySet<string> = new Set(["verified", "queued", "responded", "finishing", "finished"])

/** A world: its failpoints strike one after another, the payments or the pushes of their deliveries on the second chain. */
export interface World {
  readonly failpoints: ReadonlyArray<Failpoint>
  readonly strikes: "payments" | "pushes"
}

/** The worlds with all failpoints: one for each, and where payments go on to a second chain one more for each that a push passes. */
const allWorlds = ({ routes = false }: TrialOptions): ReadonlyArray<World> => [
  ...everyFailpoint.map((one): World => ({ failpoints: [one], strikes: "payments" })),
  ...everyFailpoint
    .filter(({ checkpoint }) => routes && !ofCallers.has(checkpoint))
    .map((one): World => ({ failpoints: [one], strikes: "pushes" }))
]

/** Options that cut the trial short: the worlds, and the duration of a hang. */
export interface Cut {
  readonly worlds?: ReadonlyArray<World>
  readonly hangMillis?: number
}

/** Runs the trial, by default with a world for each failpoint; its size limits the number of worlds. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions,
  cut: Cut = {}
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed> {
  const began = performance.now()
  const all = cut.worlds ?? allWorlds(options)
  const worlds = all.slice(0, options.size ?? all.length)
  const findings = yield* Effect.forEach(
    worlds,
    (world) => Effect.scoped(strike(options, world, cut.hangMillis ?? usualHang)),
    { concurrency: sideBySide }
  )
  const failpoints = worlds.flatMap((world) => world.failpoints)
  const onPushes = worlds.filter(({ strikes }) => strikes === "pushes").length
  const report: TrialReport = {
    goal: "G2",
    title: "a crash, a defect and a hang at every checkpoint",
    options,
    figures: {
      ...Object.fromEntries(
        failpointActions.map((action) => [action, failpoints.filter((one) => one.action === action).length])
      ),
      ...(options.routes === true && { "of them at pushes on the second chain": onPushes }),
      "payments in each": payments,
      seconds: Math.round((performance.now() - began) / 1000)
    },
    findings: findings.flat()
  }
  return report
})

/** Strikes in a world of their own. */
const strike = Effect.fnUntraced(function* (
  options: TrialOptions,
  { failpoints, strikes }: World,
  hangMillis: number
): Effect.fn.Return<ReadonlyArray<Broken>, Anvil.AnvilFailed> {
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const isPush = strikes === "pushes"
      const name = `${isPush ? "push " : ""}${seriesToText(failpoints)}`
      const patience = options.patienceMillis ?? 60_000
      const began = performance.now()
      const world = yield* TrialWorld.make(
        { ...options, seed: `${options.seed}/${name}` },
        { ...small, ...(isPush && { shares: none }) }
      )
      const facilitator = yield* world.facilitator({ hangMillis, strikesPushes: isPush }, { failpoints })
      yield* facilitator.listening
      const missed = () => missedIn(facilitator, failpoints)
      const isOver = () => missed().length === 0
      // The first leg of all payments is over when the first push begins, so that a strike hits the second.
      if (isPush) yield* world.routes?.executor.hold ?? Effect.void
      const weather = yield* Effect.forkScoped(
        isPush ? Effect.void : feesRise(world.chain, world.rpc, failpoints, isOver)
      )
      const counts = TrialLoad.none()
      const load = {
        ...world.load,
        facilitators: [facilitator.url],
        concurrency: buyers,
        mix: isPush ? { ...mix, routed: 1_000 } : mix,
        patienceMillis: patience + hangMillis
      }
      // More come while the checkpoint was not passed: on a busy machine the weather may miss those before.
      const isLate = () => performance.now() - began > patience
      yield* TrialLoad.run(load, counts, (begun) => begun >= payments && (isPush || isOver() || isLate()))
      yield* facilitator.listening
      if (isPush) yield* pushed(world, facilitator.url, failpoints, isOver, isLate)
      const { findings } = yield* TrialWorld.audited(world, facilitator.url, { patienceMillis: patience + hangMillis })
      yield* Fiber.interrupt(weather)
      const vain = missed().map((one) => ({ check: "not-struck", detail: `${toText(one)} never struck` }))
      yield* Effect.logInfo(
        `${name}: ${findings.length + vain.length} differences after ${Math.round((performance.now() - began) / 1000)} s`
      )
      return [...vain, ...findings].map(({ check, detail }) => ({ check, detail: `${name}: ${detail}` }))
    })
  )
})

/** The strikes that have not happened yet. */
const missedIn = ({ struck }: FacilitatorLife, failpoints: ReadonlyArray<Failpoint>): ReadonlyArray<Failpoint> =>
  failpoints.filter((one) => !struck.has(toText(one)))

const small = { operations: true, signers: 1, payers: buyers, finalityDepth: 2 }

/** The executor delivers nothing. */
const none = { atOnce: 0, late: 0 }

/** Waits until all payments are final, has their messages attested, and waits until the failpoints have struck their pushes. */
const pushed = Effect.fnUntraced(function* (
  { routes }: TrialWorld.TrialWorld,
  facilitator: string,
  failpoints: ReadonlyArray<Failpoint>,
  isOver: () => boolean,
  isLate: () => boolean
) {
  if (routes === undefined) return
  const { chains, executor, rpc } = routes
  const settled = yield* Effect.repeat(Effect.andThen(Effect.sleep(lookPause), PaymentBooks.read(facilitator)), {
    until: (books) => isLate() || books.every(isOverOnFirst)
  })
  yield* executor.release
  // Fees rise behind the executor's own transactions: those would be thrown away too.
  const departed = settled.filter((one) => one.delivery !== undefined).length
  yield* Effect.repeat(Effect.sleep(lookPause), { until: () => executor.counts.attested >= departed || isLate() })
  const weather = yield* Effect.forkScoped(feesRise(chains.second, rpc, failpoints, isOver))
  yield* Effect.repeat(Effect.sleep(lookPause), { until: () => isOver() || isLate() })
  yield* Fiber.interrupt(weather)
  yield* chains.second.setIntervalMining(1)
})

const lookPause = 300

const isOverOnFirst = ({ status }: PaymentBooks.BookEntry): boolean => status === "accepted" || isEnd({ status })

/** Where bytes have to be signed again, what they offer has to become too little while they wait: until that has happened. */
const feesRise = (
  chain: TrialWorld.TrialWorld["chain"],
  rpc: TrialWorld.TrialWorld["rpc"],
  failpoints: ReadonlyArray<Failpoint>,
  isOver: () => boolean
) =>
  failpoints.some(({ checkpoint }) => checkpoint === "re-signed" || checkpoint === "replaced")
    ? Effect.repeat(
        Effect.andThen(ChainWeather.evict(chain, rpc), Effect.andThen(Effect.sleep("4 seconds"), calm(chain))),
        {
          while: () => !isOver()
        }
      )
    : Effect.void

/** The weather is fair again: the next bytes offer little. */
const calm = (chain: TrialWorld.TrialWorld["chain"]) =>
  Effect.andThen(chain.setNextBlockBaseFee(ChainWeather.gwei), chain.mine())
