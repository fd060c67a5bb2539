/**
 * G2: every place in the life of a payment where a crash, a defect or a hang may cut it is a safe place. The places are
 * the checkpoints in the code, all of them.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

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

/** Options that cut the trial short: the failpoints, those of each world one after another, and the duration of a hang. */
export interface Cut {
  readonly worlds?: ReadonlyArray<ReadonlyArray<Failpoint>>
  readonly hangMillis?: number
}

/** Runs the trial, by default with a world for each failpoint; its size limits the number of worlds. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions,
  cut: Cut = {}
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed> {
  const began = performance.now()
  const all = cut.worlds ?? everyFailpoint.map((one) => [one])
  const worlds = all.slice(0, options.size ?? all.length)
  const findings = yield* Effect.forEach(
    worlds,
    (failpoints) => Effect.scoped(strike(options, failpoints, cut.hangMillis ?? usualHang)),
    { concurrency: sideBySide }
  )
  const failpoints = worlds.flat()
  const report: TrialReport = {
    goal: "G2",
    title: "a crash, a defect and a hang at every checkpoint",
    options,
    figures: {
      ...Object.fromEntries(
        failpointActions.map((action) => [action, failpoints.filter((one) => one.action === action).length])
      ),
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
  failpoints: ReadonlyArray<Failpoint>,
  hangMillis: number
): Effect.fn.Return<ReadonlyArray<Broken>, Anvil.AnvilFailed> {
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const name = seriesToText(failpoints)
      const patience = options.patienceMillis ?? 60_000
      const began = performance.now()
      const world = yield* TrialWorld.make({ ...options, seed: `${options.seed}/${name}` }, small)
      const facilitator = yield* world.facilitator({ hangMillis }, { failpoints })
      yield* facilitator.listening
      const missed = () => missedIn(facilitator, failpoints)
      const isOver = () => missed().length === 0
      const weather = yield* Effect.forkScoped(feesRise(world, failpoints, isOver))
      const counts = TrialLoad.none()
      const load = {
        ...world.load,
        facilitators: [facilitator.url],
        concurrency: buyers,
        mix,
        patienceMillis: patience + hangMillis
      }
      // More come while the checkpoint was not passed: on a busy machine the weather may miss those before.
      const isLate = () => performance.now() - began > patience
      yield* TrialLoad.run(load, counts, (begun) => begun >= payments && (isOver() || isLate()))
      yield* facilitator.listening
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

/** Where bytes have to be signed again, what they offer has to become too little while they wait: until that has happened. */
const feesRise = (world: TrialWorld.TrialWorld, failpoints: ReadonlyArray<Failpoint>, isOver: () => boolean) =>
  failpoints.some(({ checkpoint }) => checkpoint === "re-signed" || checkpoint === "replaced")
    ? Effect.repeat(
        Effect.andThen(
          ChainWeather.evict(world.chain, world.rpc),
          Effect.andThen(Effect.sleep("4 seconds"), calm(world))
        ),
        {
          while: () => !isOver()
        }
      )
    : Effect.void

/** The weather is fair again: the next bytes offer little. */
const calm = ({ chain }: TrialWorld.TrialWorld) =>
  Effect.andThen(chain.setNextBlockBaseFee(ChainWeather.gwei), chain.mine())
