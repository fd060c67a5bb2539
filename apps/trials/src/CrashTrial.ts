/**
 * G1: a facilitator that is killed at random times under load loses nothing.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { FacilitatorLife } from "./FacilitatorLife.ts"
import * as TrialAct from "./TrialAct.ts"
import type { TrialOptions } from "./TrialOptions.ts"
import type { TrialRandom } from "./TrialRandom.ts"
import type { TrialReport } from "./TrialReport.ts"
import * as TrialWorld from "./TrialWorld.ts"

const usualKills = 200
/** Payments for each kill. */
const paymentsPerKill = 25
/** The longest life, in milliseconds from its begin. */
const longestLife = 3_000
const buyers = 40

/**
 * Runs the trial; its size counts the kills.
 *
 * @category trials
 */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const world = yield* TrialWorld.make(options)
  const kills = options.size ?? usualKills
  const facilitator = yield* world.facilitator()
  yield* facilitator.listening
  const began = performance.now()
  const outcome = yield* TrialAct.underLoad(
    world,
    { facilitators: [facilitator.url], concurrency: buyers, payments: kills * paymentsPerKill },
    Effect.forEach(Array.from({ length: kills }), (_, kill) => strike(facilitator, world.random.branch(`kill${kill}`)))
  )
  return {
    goal: "G1",
    title: `${kills} times SIGKILL under load`,
    options,
    figures: { kills, ...TrialAct.figures(outcome), seconds: Math.round((performance.now() - began) / 1000) },
    findings: outcome.findings
  }
})

/** Lives are cut at any time: also while they begin. */
const strike = (facilitator: FacilitatorLife, luck: TrialRandom): Effect.Effect<void> =>
  Effect.andThen(Effect.sleep(luck.between(0, longestLife)), facilitator.signal("SIGKILL"))
