/**
 * Plans with a theme: some fates need several troubles in a row, which chance alone brings once in thousands of seeds. A share of
 * the seeds has its plan bent towards one of them; chance does the rest.
 */
import * as TrialRandom from "../world/TrialRandom.ts"
import type { Act, Purchase, Setup, SimulationPlan } from "./SimulationPlan.ts"
import * as Plain from "./SimulationPlan.ts"

/** Seeds with a theme, per thousand. */
const themedShare = 300

/** The plan of a seed, with its theme if it has one. */
export const draw = (seed: number): SimulationPlan => {
  const plan = Plain.draw(seed)
  const random = TrialRandom.make(`theme ${seed}`)
  return random.perMille(themedShare) ? withTheme(random.pick(themeNames), plan, random) : plan
}

/**
 * Their names. `expiry`: transactions do not arrive, and validities end. `answers`: callers without a claim lose their answers.
 * `ceilings`: several facilitators settle at once below a ceiling. `counts`: strangers' transactions count, and are taken back.
 * `settings`: assets, signers and batches change while transactions are on their way.
 */
export const themeNames = ["expiry", "answers", "ceilings", "counts", "settings"] as const

export type ThemeName = (typeof themeNames)[number]

/** The plan, bent towards a theme. */
export const withTheme = (name: ThemeName, plan: SimulationPlan, random: TrialRandom.TrialRandom): SimulationPlan => {
  const bent = themes[name](plan, random)
  return { ...bent, acts: bent.acts.toSorted((a, b) => a.at - b.at) }
}

type Theme = (plan: SimulationPlan, random: TrialRandom.TrialRandom) => SimulationPlan

const expiry: Theme = (plan, random) => {
  const nodes = random.between(1, 2)
  const setup: Setup = {
    ...plan.setup,
    nodes,
    facilitators: random.pick([1, 1, 2]),
    signers: 1,
    validitySeconds: 20,
    blockMillis: random.pick([2000, 3000]),
    finality: random.pick([4, 8]),
    gasCeiling: 0
  }
  const from = random.below(3000)
  const millis = random.pick([18_000, 21_000, 25_000])
  const lost = Array.from({ length: nodes }, (_, node): Act => ({
    at: from,
    _tag: "Chain",
    trouble: { _tag: random.pick(["SendsDropped", "SendsDropped", "NodeDown"]), node, millis }
  }))
  const late: ReadonlyArray<Act> = [
    { at: from + random.between(10_000, 24_000), _tag: "Chain", trouble: { _tag: "SettledByStranger" } },
    {
      at: from + random.between(14_000, 24_000),
      _tag: "Chain",
      trouble: { _tag: "NodeLags", node: random.below(nodes), blocks: random.between(1, 4), millis: 10_000 }
    },
    { at: from + random.between(5000, 24_000), _tag: "Chain", trouble: { _tag: "PoolEmptied" } }
  ]
  const purchases = plan.purchases.slice(0, 2).map((one): Purchase => movedTo(one, from + random.below(4000)))
  return { ...plan, setup, purchases, acts: [...few(plan.acts, random), ...lost, ...some(late, random)] }
}

const movedTo = (purchase: Purchase, at: number): Purchase => ({ ...purchase, at })

/** At most two of them, so that nothing covers the theme up. */
const few = (acts: ReadonlyArray<Act>, random: TrialRandom.TrialRandom): ReadonlyArray<Act> =>
  acts.slice(0, random.below(3))

const some = (acts: ReadonlyArray<Act>, random: TrialRandom.TrialRandom): ReadonlyArray<Act> =>
  acts.filter(() => random.perMille(500))

/** Where a call without a claim may be cut off between the money and its answer. */
const answerPlaces = [
  "claimed",
  "responded",
  "records.claim after",
  "records.takeAnswer before",
  "records.takeAnswer after",
  "records.record after"
]

const answers: Theme = (plan, random) => {
  const setup: Setup = {
    ...plan.setup,
    validitySeconds: 60,
    settleTimeoutMillis: random.pick([1500, 8000]),
    facilitators: random.pick([1, 1, plan.setup.facilitators]),
    lostWrites: random.pick([0, 60, 200]),
    gasCeiling: 0
  }
  const purchases = plan.purchases.map((one): Purchase => ({ ...one, kind: "unclaimed", patienceMillis: 0 }))
  const strikes = purchases.flatMap((one): ReadonlyArray<Act> => {
    const facilitator = random.below(setup.facilitators)
    const at = one.at + random.below(2500)
    const millis = random.pick([500, 2000, 5000])
    return [
      { at: one.at, _tag: "KillAt", facilitator, place: random.pick(answerPlaces), passing: 1, downMillis: 500 },
      { at, _tag: "Kill", facilitator, downMillis: 500 },
      { at, _tag: "Records", facilitator, state: random.pick(["cut", "mute"]), millis }
    ]
  })
  return { ...plan, setup, purchases, acts: [...few(plan.acts, random), ...some(strikes, random)] }
}

/** The most that one transfer costs, and a ceiling that two of them are above; in the ledger's native unit. */
const costOfOne = 1562
const highestCeiling = 3100

const ceilings: Theme = (plan, random) => {
  const setup: Setup = {
    ...plan.setup,
    chain: "ledger",
    facilitators: random.between(2, 3),
    signers: 3,
    batch: 1,
    capacity: 16,
    gasCeiling: random.between(costOfOne, highestCeiling),
    validitySeconds: 60,
    lostWrites: 0,
    recordsLatency: [10, 80]
  }
  const at = random.between(2000, 5000)
  const purchases = Array.from({ length: random.between(4, 6) }, (_, buyer): Purchase => ({
    at: at + random.below(40),
    buyer,
    kind: random.pick(["ours", "x402", "unclaimed"]),
    shop: random.below(setup.shops),
    copies: 1,
    isPoor: false,
    patienceMillis: 0
  }))
  // Transactions that were signed before gas became dear then cost the most that they may.
  const dear: ReadonlyArray<Act> = [
    { at: at - 500, _tag: "Chain", trouble: { _tag: "BlocksHeld", millis: 4000 } },
    { at: at + 3000, _tag: "Chain", trouble: { _tag: "Dear", times: 2, millis: 10_000 } }
  ]
  return { ...plan, setup, purchases, acts: dear }
}

const counts: Theme = (plan, random) => {
  const setup: Setup = {
    ...plan.setup,
    facilitators: 1,
    signers: random.between(1, 2),
    nodes: 1,
    blockMillis: random.pick([2000, 3000]),
    finality: 8,
    validitySeconds: 60,
    gasCeiling: 0
  }
  const foreign = Array.from({ length: random.between(1, 2) }, () => {
    const at = random.between(1000, 14_000)
    const again = at + random.between(4000, 14_000)
    const depth = random.between(3, setup.finality - 1)
    const purchase: Purchase = { ...first(plan.purchases), at: Math.max(0, at - random.pick([-500, 50, 1000])) }
    const acts: ReadonlyArray<Act> = [
      { at, _tag: "Chain", trouble: { _tag: "SlotUsedByStranger", signer: random.below(setup.signers) } },
      { at: again, _tag: "Chain", trouble: { _tag: "Reorganise", depth, keepsPool: random.perMille(500) } }
    ]
    return { acts, purchase }
  })
  return {
    ...plan,
    setup,
    purchases: [...plan.purchases, ...foreign.map(({ purchase }) => purchase)],
    acts: [...few(plan.acts, random), ...foreign.flatMap(({ acts }) => acts)]
  }
}

const first = ([one]: ReadonlyArray<Purchase>): Purchase => ({
  at: 0,
  buyer: 0,
  kind: "ours",
  shop: 0,
  copies: 1,
  isPoor: false,
  patienceMillis: 0,
  ...one
})

const settings: Theme = (plan, random) => {
  const change = random.pick(["assets", "signers", "batches"] as const)
  const setup: Setup = {
    ...plan.setup,
    facilitators: random.pick([1, 1, 2]),
    // Batches are fuller where there is one signer.
    signers: change === "batches" ? 1 : random.between(2, 3),
    batch: random.pick([2, 4]),
    validitySeconds: 60,
    gasCeiling: 0
  }
  const at = random.between(1000, 3000)
  const purchases = Array.from({ length: random.between(2, 6) }, (_, buyer): Purchase => ({
    ...first(plan.purchases),
    at: at + random.below(20),
    buyer,
    kind: random.pick(["ours", "x402", "unclaimed", "unclaimed"]),
    shop: random.below(setup.shops),
    isPoor: false,
    paysInSecond: random.perMille(500)
  }))
  const held: Act = {
    at: at - 500,
    _tag: "Chain",
    trouble: { _tag: "BlocksHeld", millis: random.pick([4000, 8000]) }
  }
  const restart = at + random.between(100, 2500)
  const configuration = changed(change, setup, random)
  const restarts = Array.from({ length: setup.facilitators }, (_, facilitator): ReadonlyArray<Act> => [
    { at: restart - 50, _tag: "Configure", facilitator, ...configuration },
    { at: restart, _tag: "Kill", facilitator, downMillis: 500 }
  ])
  // Nothing is signed for what earlier settings alone would take: where they are gone, gas stays as cheap as it was.
  const dearer: Act = { at: restart + 100, _tag: "Chain", trouble: { _tag: "Dearer", times: random.pick([3, 5]) } }
  const emptied: Act = { at: restart + 200, _tag: "Chain", trouble: { _tag: "PoolEmptied" } }
  const acts = [held, ...restarts.flat(), ...(change === "batches" ? [dearer] : []), ...some([emptied], random)]
  return { ...plan, setup, purchases, acts }
}

const changed = (
  change: "assets" | "signers" | "batches",
  { batch, signers }: Setup,
  random: TrialRandom.TrialRandom
) => ({
  signers: change === "signers" ? [random.below(signers)] : Array.from({ length: signers }, (_, place) => place),
  batch: change === "batches" ? 1 : batch,
  assets: change === "assets" ? 1 : 2
})

const themes: Readonly<Record<ThemeName, Theme>> = { expiry, answers, ceilings, counts, settings }
