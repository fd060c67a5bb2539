import { describe, expect, it } from "vitest"

import * as Simulation from "../../src/simulation/Simulation.ts"
import { simulationMutations } from "../../src/simulation/SimulationMutations.ts"
import * as SimulationPlan from "../../src/simulation/SimulationPlan.ts"
import { shrink } from "../../src/simulation/SimulationShrink.ts"
import { sweep } from "../../src/simulation/SimulationSweep.ts"

const sweepStories = async (first: number, count: number) => {
  const stories: Array<unknown> = []
  for (let seed = first; seed < first + count; seed++) {
    // oxlint-disable-next-line no-await-in-loop -- one simulation at a time
    const { digest, story } = await Simulation.run(SimulationPlan.draw(seed), { tells: true })
    stories.push({ digest, story })
  }
  return stories
}

/** A plain world in which three buyers buy again and again, with these troubles. */
const plans = (
  changed: Partial<SimulationPlan.Setup> = {},
  acts: ReadonlyArray<SimulationPlan.Act> = []
): ReadonlyArray<SimulationPlan.SimulationPlan> => [
  {
    seed: 1,
    setup: { ...plain, ...changed },
    purchases: Array.from({ length: 8 }, (_, index) => ({
      at: index * 1500,
      buyer: index % 3,
      kind: "ours",
      shop: 0,
      copies: 1,
      isPoor: false,
      patienceMillis: 0
    })),
    acts
  }
]

const plain: SimulationPlan.Setup = {
  chain: "ledger",
  facilitators: 1,
  shops: 1,
  nodes: 2,
  signers: 1,
  batch: 1,
  capacity: 16,
  blockMillis: 1000,
  finality: 4,
  validitySeconds: 60,
  settleTimeoutMillis: 8000,
  handlerMillis: 200,
  recordsLatency: [0, 2],
  chainLatency: [1, 15],
  callLatency: [1, 15],
  lostWrites: 0,
  isAfterHandler: false,
  gasCeiling: 0,
  shuffles: false
}

/** A reorganisation finds some payment in a block that gives way, at one of these instants. */
const reorganised = [3100, 4600, 6100, 7600].flatMap((at) =>
  plans({}, [{ _tag: "Chain", at, trouble: { _tag: "Reorganise", depth: 3, keepsPool: false } }])
)

/** A purchase of one copy, by an account, at an instant. */
const purchase = (at: number, buyer: number, changed: Partial<SimulationPlan.Purchase>): SimulationPlan.Purchase => ({
  at,
  buyer,
  kind: "x402",
  shop: 0,
  copies: 1,
  isPoor: false,
  patienceMillis: 0,
  ...changed
})

const usesSlot = (at: number, signer: number): SimulationPlan.Act => ({
  at,
  _tag: "Chain",
  trouble: { _tag: "SlotUsedByStranger", signer }
})

const reorganises = (at: number, depth: number, keepsPool: boolean): SimulationPlan.Act => ({
  at,
  _tag: "Chain",
  trouble: { _tag: "Reorganise", depth, keepsPool }
})

const onEvm: SimulationPlan.Setup = {
  ...plain,
  chain: "evm",
  nodes: 1,
  blockMillis: 3000,
  finality: 8,
  recordsLatency: [0, 0],
  callLatency: [0, 0]
}

const inCopies = { kind: "unclaimed", copies: 5, patienceMillis: 1500 } as const

/**
 * A stranger settles a payment that is not bound to its request, and a reorganisation takes that back: the facilitator sends the payment
 * again. A buyer that was refused has signed another one by then. Found by chance under these seeds.
 */
const takenFromStrangers: ReadonlyArray<SimulationPlan.SimulationPlan> = [
  {
    seed: 723_000_166,
    setup: { ...onEvm, signers: 2, handlerMillis: 0, chainLatency: [0, 0], callLatency: [2, 60] },
    purchases: [purchase(4365, 2, {}), purchase(803, 2, {}), purchase(8111, 2, {})],
    acts: [usesSlot(1803, 0), usesSlot(9111, 1), reorganises(14_607, 7, false)]
  },
  {
    seed: 723_001_446,
    setup: {
      ...onEvm,
      batch: 2,
      capacity: 1,
      settleTimeoutMillis: 1500,
      handlerMillis: 4000,
      chainLatency: [2, 60],
      lostWrites: 5
    },
    purchases: [
      purchase(5725, 0, inCopies),
      purchase(303, 2, { kind: "ours", copies: 5 }),
      purchase(10_654, 0, inCopies),
      purchase(9483, 0, inCopies)
    ],
    acts: [usesSlot(8983, 0), usesSlot(10_154, 0), reorganises(15_074, 6, true), reorganises(15_624, 3, false)]
  }
]

/** A stranger uses the slot of a sent payment, whose signer is then removed from the configuration: another signer is idle. */
const withoutSigner: SimulationPlan.SimulationPlan = {
  seed: 1,
  setup: { ...plain, chain: "evm", signers: 2 },
  purchases: [0, 1, 2, 3].map((index) => purchase(1000 + index * 10, index % 3, { kind: "ours" })),
  acts: [
    { at: 500, _tag: "Chain", trouble: { _tag: "BlocksHeld", millis: 3900 } },
    usesSlot(1900, 0),
    { at: 2300, _tag: "Configure", facilitator: 0, signers: [1], batch: 1 },
    { at: 2400, _tag: "Kill", facilitator: 0, downMillis: 500 }
  ]
}

const options = () => ({ mutation: simulationMutations["claim-always-granted"].make() })

describe("a simulation", () => {
  it("tells the same story twice", async () => {
    expect(await sweepStories(1, 10)).toEqual(await sweepStories(1, 10))
  })

  it("takes the same steps at the same instants twice, told or not", async () => {
    const first = await sweep(1000, 40)
    const second = await sweep(1000, 40, { tells: true })
    expect(second.digest).toBe(first.digest)
    expect(second.steps).toBe(first.steps)
  })

  it("settles by another signer what has lost its slot and then its own", async () => {
    const { story, violation } = await Simulation.run(withoutSigner, { tells: true })
    expect(violation).toBeUndefined()
    expect(story.filter((line) => line.includes("has used its slot for good"))).not.toEqual([])
  })

  it("finds a mutation, and tells it with fewer acts", async () => {
    const { failed } = await sweep(1, 100, options(), 1)
    const found = failed.find(({ violation }) => violation?.invariant === "one-run")
    expect(found).toBeDefined()
    if (found === undefined) return
    const shortest = await shrink(found, options())
    expect(shortest.violation?.invariant).toBe("one-run")
    expect(shortest.plan.acts.length).toBeLessThanOrEqual(found.plan.acts.length)
  })

  it.each([
    ["broadcast-before-persist", "write-first", plans()],
    ["no-receipt-is-failure", "unknown-is-no-end", plans()],
    ["no-gas-ceiling", "gas-is-a-budget", plans({ gasCeiling: 2000 })],
    ["reorganisation-unseen", "proven-by-transfer", reorganised],
    ["strangers-at-depth-one", "no-false-verdict", takenFromStrangers]
  ] as const)("finds %s, and nothing in the same worlds without it", async (name, broken, worlds) => {
    const violations = []
    for (const plan of worlds) {
      // oxlint-disable-next-line no-await-in-loop -- one simulation at a time
      expect((await Simulation.run(plan)).violation).toBeUndefined()
      // oxlint-disable-next-line no-await-in-loop -- one simulation at a time
      violations.push((await Simulation.run(plan, { mutation: simulationMutations[name].make() })).violation?.invariant)
    }
    expect(violations).toContain(broken)
  })

  it("ends later, by its own clock, with fees-frozen while blocks are dear", async () => {
    const dear: SimulationPlan.Act = { _tag: "Chain", at: 3500, trouble: { _tag: "Dear", times: 5, millis: 25_000 } }
    const [plan] = plans({ validitySeconds: 20 }, [dear])
    if (plan === undefined) throw new Error("there is one plan")
    const sound = await Simulation.run(plan)
    const frozen = await Simulation.run(plan, { mutation: simulationMutations["fees-frozen"].make() })
    expect(sound.violation).toBeUndefined()
    expect(frozen.millis).toBeGreaterThan(sound.millis + plan.setup.validitySeconds * 1000)
  })
})
