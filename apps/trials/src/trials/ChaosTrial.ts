/**
 * G8: a node that fails, lags or lies makes the facilitator say "unknown", and never something wrong.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as RpcChaos from "../faults/RpcChaos.ts"
import { rpcFaults, type RpcSchedule } from "../faults/RpcFault.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialCaller } from "../world/TrialCaller.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

const usualSeeds = 10
const payments = 40
const stormMillis = 12_000
/** Purchases per thousand that have to settle while one of three nodes is faulty. */
const promised = 990

/** One of three nodes does everything wrong; or all do half of what they do. */
const storms: Readonly<Record<"one" | "all", RpcSchedule>> = {
  one: { faults: rpcFaults, perMille: 1000, nodes: 3 },
  all: { faults: rpcFaults, perMille: 500 }
}

/** Runs the trial; its size counts the seeds. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed> {
  const seeds = options.size ?? usualSeeds
  const runs = yield* Effect.forEach(
    Array.from({ length: seeds * 2 }, (_, index) => index),
    (index) => Effect.scoped(weather(options, `${options.seed}/${index >> 1}`, index % 2 === 0 ? "one" : "all")),
    { concurrency: 2 }
  )
  const sum = (kind: "one" | "all", what: "settled" | "bought" | "faults") =>
    runs.filter((one) => one.kind === kind).reduce((total, one) => total + one[what], 0)
  const available = Math.floor((sum("one", "settled") * 1000) / sum("one", "bought"))
  const poor: Broken = {
    check: "unavailable",
    detail: `${available} of 1000 were settled with one faulty node of three`
  }
  return {
    goal: "G8",
    title: `faults of nodes: one of three, and all, with ${seeds} seeds each`,
    options,
    figures: {
      "faults, one of three": sum("one", "faults"),
      "settled, of 1000": available,
      "faults, all": sum("all", "faults"),
      payments: sum("one", "bought") + sum("all", "bought")
    },
    findings: [...runs.flatMap(({ findings }) => findings), ...(available < promised ? [poor] : [])]
  }
})

const weather = Effect.fnUntraced(function* (
  options: TrialOptions,
  seed: string,
  kind: "one" | "all"
): Effect.fn.Return<
  { kind: "one" | "all"; settled: number; bought: number; faults: number; findings: ReadonlyArray<Broken> },
  Anvil.AnvilFailed,
  Scope.Scope
> {
  const world = yield* TrialWorld.make({ ...options, seed: `${seed}/${kind}` })
  const chaos = yield* RpcChaos.make({ upstream: world.chain.rpcUrl, random: world.random.branch("rpc") })
  const facilitator = yield* world.facilitator({ rpcUrl: chaos.url })
  yield* facilitator.listening
  const storm = Effect.gen(function* () {
    chaos.storm(storms[kind])
    yield* Effect.sleep(stormMillis)
    chaos.calm()
  })
  const early: Array<Broken> = []
  const outcome = yield* TrialAct.underLoad(
    world,
    {
      facilitators: [facilitator.url],
      caller: doubting(world, early),
      concurrency: 8,
      payments,
      validSeconds: 300
    },
    storm
  )
  const findings = [...early, ...outcome.findings]
  const { settled, used } = outcome.counts
  yield* Effect.logInfo(`${seed}, ${kind}: ${findings.length} differences`)
  return {
    kind,
    settled: settled + used,
    bought: Object.values(outcome.counts).reduce((total, one) => total + one, 0) - outcome.counts.elsewhere,
    faults: chaos.fates.filter((fate) => fate !== undefined).length,
    findings: findings.map(({ check, detail }) => ({ check, detail: `${seed}, ${kind}: ${detail}` }))
  }
})

/** A caller that checks an honest node itself whenever the facilitator reports that the money has moved. */
const doubting = ({ caller, rpc }: TrialWorld.TrialWorld, early: Array<Broken>): TrialCaller => ({
  ...caller,
  present: Effect.fnUntraced(function* (operation, facilitator, payment, claim) {
    const told = yield* caller.present(operation, facilitator, payment, claim)
    if (operation === "settle" && told._tag === "Verdict" && told.success) {
      const receipt = yield* rpc.ask(Schema.NullOr(Schema.Unknown), "eth_getTransactionReceipt", [told.transaction])
      if (receipt === null) {
        early.push({ check: "told-early", detail: `${payment.journal.nonce} was reported as paid and was in no block` })
      }
    }
    return told
  })
})
