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
/**
 * The time for which buyers ask for an outcome and the audit waits for an end, in milliseconds, and the validity of authorizations, in
 * seconds. Nothing of this trial is promised in seconds. A world that keeps its promises ends long before: only one that stands still waits
 * to the end, however busy the machine is.
 */
const usualPatience = 600_000
const usualValidity = 600

/** Checkpoints of callers, their claims and their payments' way into a lane: a push of a delivery passes the others. */
const ofCallers: ReadonlySet<string> = new Set(["verified", "queued", "responded", "finishing", "finished"])

/** A world: its failpoints strike one after another, the payments or the pushes of their deliveries on the second chain. */
export interface World {
  readonly failpoints: ReadonlyArray<Failpoint>
  readonly strikes: "payments" | "pushes"
}

/** The worlds with all failpoints: one for each, and where payments go on to a second chain one more for each that a push passes. */
const allWorlds = (options: TrialOptions): ReadonlyArray<World> => [
  ...everyFailpoint.map((one): World => ({ failpoints: [one], strikes: "payments" })),
  ...everyFailpoint
    .filter(({ checkpoint }) => goesOn(options) && !ofCallers.has(checkpoint))
    .map((one): World => ({ failpoints: [one], strikes: "pushes" }))
]

/** Whether a part of the payments goes on to a second chain. */
const goesOn = ({ inventory = false, routes = false }: TrialOptions): boolean => routes || inventory

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
      ...(goesOn(options) && { "of them at pushes on the second chain": onPushes }),
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
      const patience = options.patienceMillis ?? usualPatience
      const began = performance.now()
      const world = yield* TrialWorld.make(
        { validSeconds: usualValidity, ...options, seed: `${options.seed}/${name}` },
        { ...small, ...(isPush && { shares: none }) }
      )
      const facilitator = yield* world.facilitator(
        { hangMillis, strikesPushes: isPush, ...(isPush && heldBy(world)) },
        { failpoints }
      )
      yield* facilitator.listening
      const missed = () => missedIn(facilitator, failpoints)
      const isOver = () => missed().length === 0
      // The first leg of all payments is over when the first push begins, so that a strike hits the second.
      if (isPush) yield* world.onward?.hold ?? Effect.void
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

/** The depth at which payments are final, where it holds the second leg. */
const heldBy = ({ onward }: TrialWorld.TrialWorld) =>
  onward?.heldDepth === undefined ? {} : { finalityDepth: onward.heldDepth }

const small = { operations: true, signers: 1, payers: buyers, finalityDepth: 2 }

/** The executor delivers nothing. */
const none = { atOnce: 0, late: 0 }

/** Waits until all payments are over on the first chain, has them delivered, and waits until the failpoints have struck their pushes. */
const pushed = Effect.fnUntraced(function* (
  { onward }: TrialWorld.TrialWorld,
  facilitator: string,
  failpoints: ReadonlyArray<Failpoint>,
  isOver: () => boolean,
  isLate: () => boolean
) {
  if (onward === undefined) return
  const { heldDepth, isReleased, release, rpc, second } = onward
  const settled = yield* Effect.repeat(Effect.andThen(Effect.sleep(lookPause), PaymentBooks.read(facilitator)), {
    until: (books) => isLate() || books.every((one) => isOverOnFirst(one, heldDepth !== undefined))
  })
  yield* release
  // Fees rise behind the executor's own transactions: those would be thrown away too.
  const departed = settled.filter((one) => one.delivery !== undefined).length
  yield* Effect.repeat(Effect.sleep(lookPause), { until: () => isReleased(departed) || isLate() })
  const weather = yield* Effect.forkScoped(feesRise(second, rpc, failpoints, isOver))
  yield* Effect.repeat(Effect.sleep(lookPause), { until: () => isOver() || isLate() })
  yield* Fiber.interrupt(weather)
  yield* second.setIntervalMining(1)
})

const lookPause = 300

/** Where the second leg is held by the depth, payments are not final before it is released. */
const isOverOnFirst = ({ status }: PaymentBooks.BookEntry, isHeldByDepth: boolean): boolean =>
  status === "accepted" || isEnd({ status }) || (isHeldByDepth && status === "included")

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
