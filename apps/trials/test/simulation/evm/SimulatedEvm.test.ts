import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as Simulation from "../../../src/simulation/Simulation.ts"
import { simulationMutations } from "../../../src/simulation/SimulationMutations.ts"
import * as SimulationPlan from "../../../src/simulation/SimulationPlan.ts"

const run = (seed: number, options: Simulation.Options = {}) =>
  Effect.promise(() => Simulation.run(SimulationPlan.onEvm(SimulationPlan.draw(seed)), options))

/** No node can be asked for a while when the first buyers buy. */
const withoutNodes = (plan: SimulationPlan.SimulationPlan): SimulationPlan.SimulationPlan => {
  const down = Array.from({ length: plan.setup.nodes }, (_, node): SimulationPlan.Act => ({
    at: 0,
    _tag: "Chain",
    trouble: { _tag: "NodeDown", node, millis: 10_000 }
  }))
  return { ...plan, acts: [...down, ...plan.acts] }
}

/** One stranger has used the signer's next slot, and another submits the payment that was signed for it. */
const betweenStrangers: SimulationPlan.SimulationPlan = {
  seed: 1,
  setup: {
    chain: "evm",
    facilitators: 1,
    shops: 1,
    nodes: 1,
    signers: 1,
    batch: 1,
    capacity: 16,
    blockMillis: 1000,
    finality: 4,
    validitySeconds: 20,
    settleTimeoutMillis: 8000,
    handlerMillis: 0,
    recordsLatency: [0, 0],
    chainLatency: [0, 0],
    callLatency: [0, 0],
    lostWrites: 0,
    isAfterHandler: false,
    gasCeiling: 0,
    shuffles: false
  },
  purchases: [{ at: 3263, buyer: 0, kind: "ours", shop: 0, copies: 1, isPoor: false, patienceMillis: 0 }],
  acts: [
    { at: 2460, _tag: "Chain", trouble: { _tag: "SlotUsedByStranger", signer: 0 } },
    { at: 4935, _tag: "Chain", trouble: { _tag: "SettledByStranger" } }
  ]
}

/** The lane's process refuses a payer whose last payment has failed, the other one takes its payment in, and a stranger submits it. */
const refusedThenSent: SimulationPlan.SimulationPlan = {
  seed: 242,
  setup: {
    chain: "evm",
    facilitators: 2,
    shops: 1,
    nodes: 1,
    signers: 1,
    batch: 1,
    capacity: 16,
    blockMillis: 1000,
    finality: 4,
    validitySeconds: 20,
    settleTimeoutMillis: 8000,
    handlerMillis: 0,
    recordsLatency: [2, 60],
    chainLatency: [0, 0],
    callLatency: [0, 0],
    lostWrites: 0,
    isAfterHandler: false,
    gasCeiling: 0,
    shuffles: false
  },
  purchases: [
    { at: 1995, buyer: 0, kind: "unclaimed", shop: 1, copies: 1, isPoor: true, patienceMillis: 0 },
    { at: 2046, buyer: 0, kind: "x402", shop: 1, copies: 1, isPoor: false, patienceMillis: 0 },
    { at: 8570, buyer: 0, kind: "ours", shop: 0, copies: 1, isPoor: true, patienceMillis: 0 }
  ],
  acts: []
}

describe("a simulation on the modelled EVM chain", () => {
  it.live("tells the same story twice", () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= 12; seed++) {
        const first = yield* run(seed, { tells: true })
        const second = yield* run(seed, { tells: true })
        assert.deepStrictEqual(second.story, first.story)
        assert.strictEqual(second.digest, first.digest)
      }
    })
  )

  it.live("settles and serves where nothing goes wrong", () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= 6; seed++) {
        const drawn = SimulationPlan.onEvm(SimulationPlan.draw(seed))
        const purchases = drawn.purchases.map((one) => Object.assign(one, { isPoor: false, patienceMillis: 0 }))
        const plan = { ...drawn, purchases, acts: [] }
        const { served, story, violation } = yield* Effect.promise(() => Simulation.run(plan, { tells: true }))
        assert.strictEqual(violation, undefined)
        assert.isAtLeast(served, purchases.length)
        assert.isTrue(story.some((line) => line.includes("is final")))
      }
    })
  )

  it.live("ends a payment whose slot one stranger has used and whose money another has moved", () =>
    Effect.gen(function* () {
      const { story, violation } = yield* Effect.promise(() => Simulation.run(betweenStrangers, { tells: true }))
      assert.strictEqual(violation, undefined)
      assert.isTrue(story.some((line) => line.includes("was used by a foreign transaction")))
      assert.isTrue(story.some((line) => line.includes("sent by another")))
    })
  )

  it.live("serves a bound payment that a lane has refused and a stranger has sent", () =>
    Effect.gen(function* () {
      const { story, violation } = yield* Effect.promise(() => Simulation.run(refusedThenSent, { tells: true }))
      assert.strictEqual(violation, undefined)
      const [, refused = ""] = story.flatMap((line) => /record (\S+) is accepted \(in no lane\)/.exec(line) ?? [])
      assert.notStrictEqual(refused, "")
      assert.isTrue(
        story.some((line) => line.includes(`record ${refused} is final`) && line.includes("sent by another"))
      )
      assert.isTrue(story.some((line) => line.includes(`record ${refused}: run served`)))
      assert.isTrue(story.some((line) => line.includes("buyer-3 is served")))
    })
  )

  it.live.each(["broadcast-before-persist", "no-receipt-is-failure", "rpc-error-is-verdict"] as const)(
    "finds %s",
    (name) =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 60; seed++) {
          const plan = withoutNodes(SimulationPlan.onEvm(SimulationPlan.draw(seed)))
          const mutation = simulationMutations[name].make()
          const { violation } = yield* Effect.promise(() => Simulation.run(plan, { mutation }))
          if (violation !== undefined && violation.invariant !== "all-ends") return
        }
        assert.fail("no seed shows it")
      })
  )
})
