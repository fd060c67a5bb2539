/**
 * The plan of a simulation: who buys what and when, and which troubles come. It is drawn from the seed alone and is plain data,
 * so that a failing plan can be made shorter act by act.
 */
import { Checkpoint } from "@pontage/core"

import * as TrialRandom from "../world/TrialRandom.ts"
import type { ChainTrouble } from "./world/SimulatedChain.ts"
import type { WireWeather } from "./world/Wire.ts"

/** The constants of a whole simulation. Times are in milliseconds unless they say otherwise. */
export interface Setup {
  /** The ledger in memory, or the real scheme on a modelled EVM chain. */
  readonly chain: "ledger" | "evm"
  readonly facilitators: number
  readonly shops: number
  readonly nodes: number
  readonly signers: number
  readonly batch: number
  readonly capacity: number
  readonly blockMillis: number
  readonly finality: number
  readonly validitySeconds: number
  readonly settleTimeoutMillis: number
  readonly handlerMillis: number
  readonly recordsLatency: readonly [number, number]
  readonly chainLatency: readonly [number, number]
  readonly callLatency: readonly [number, number]
  /** Lost responses of the records, per thousand. */
  readonly lostWrites: number
  readonly isAfterHandler: boolean
  /** Limit on the cost of settling in 24 hours, in the chain's smallest native unit; 0 for no limit. */
  readonly gasCeiling: number
  readonly shuffles: boolean
}

/**
 * How a buyer pays: with our client, as x402's clients do, or at a server that asks the facilitator without a claim.
 */
export type BuyerKind = "ours" | "x402" | "unclaimed"

/** A thing that a buyer requests until it is served. */
export interface Purchase {
  readonly at: number
  readonly buyer: number
  readonly kind: BuyerKind
  readonly shop: number
  /** For x402's buyers: the number of copies of each payment that are sent at once. */
  readonly copies: number
  /** It has not brought the money for this one: its account pays for what others have brought, or for nothing. */
  readonly isPoor: boolean
  /** Timeout of a request, after which it is sent again, in milliseconds; 0 for never. */
  readonly patienceMillis: number
  /** Of those without a claim: it pays in the second asset, which a configuration may lack. */
  readonly paysInSecond?: boolean
}

/** Trouble, and when it comes, in milliseconds since the beginning. */
export type Act = { readonly at: number } & (
  | { readonly _tag: "Chain"; readonly trouble: ChainTrouble }
  | { readonly _tag: "Kill"; readonly facilitator: number; readonly downMillis: number }
  | { readonly _tag: "Stop"; readonly facilitator: number; readonly downMillis: number }
  | { readonly _tag: "Freeze"; readonly facilitator: number; readonly millis: number }
  /** Killed at its n-th passing of this checkpoint from now on. */
  | {
      readonly _tag: "KillAt"
      readonly facilitator: number
      readonly place: string
      readonly passing: number
      readonly downMillis: number
    }
  /** The configuration of the next start: signers, maximum of a batch, number of assets (default both). */
  | {
      readonly _tag: "Configure"
      readonly facilitator: number
      readonly signers: ReadonlyArray<number>
      readonly batch: number
      readonly assets?: number
    }
  | { readonly _tag: "Skew"; readonly facilitator: number; readonly millis: number }
  | {
      readonly _tag: "Records"
      readonly facilitator: number
      readonly state: WireWeather["state"]
      readonly millis: number
    }
  | { readonly _tag: "Calls"; readonly shop: number; readonly state: WireWeather["state"]; readonly millis: number }
)

/** A plan. */
export interface SimulationPlan {
  readonly seed: number
  readonly setup: Setup
  readonly purchases: ReadonlyArray<Purchase>
  readonly acts: ReadonlyArray<Act>
}

/** Duration of the phase of troubles, in milliseconds. */
const troubledMillis = 25_000

/** The plan of a seed. */
export const draw = (seed: number): SimulationPlan => {
  const random = TrialRandom.make(`plan ${seed}`)
  const setup = setupOf(random.branch("setup"))
  const buying = random.branch("purchases")
  const purchases = Array.from({ length: buying.pick([1, 2, 3, 4, 5, 8]) }, () => purchaseOf(buying, setup))
  const acting = random.branch("acts")
  const isOnEvm = random.branch("chain").perMille(evmShare)
  const acts = Array.from({ length: acting.pick([0, 1, 2, 3, 4, 5, 6, 7, 8, 10]) }, () => actOf(acting, setup))
  const plan: SimulationPlan = { seed, setup, purchases, acts: acts.toSorted((a, b) => a.at - b.at) }
  return isOnEvm ? onEvm(plan) : plan
}

/** The same plan, with the real scheme on a modelled EVM chain. */
export const onEvm = (plan: SimulationPlan): SimulationPlan => ({
  ...plan,
  setup: { ...plan.setup, chain: "evm", gasCeiling: 0 }
})

const latencies = [
  [0, 0],
  [0, 2],
  [1, 15],
  [2, 60]
] as const

/** Simulations on the modelled EVM chain, per thousand. */
const evmShare = 120

const setupOf = (random: TrialRandom.TrialRandom): Setup => ({
  facilitators: random.pick([1, 1, 1, 2, 2, 3]),
  shops: random.pick([1, 1, 2]),
  nodes: random.between(1, 3),
  signers: random.pick([1, 1, 2, 3]),
  batch: random.pick([1, 1, 2, 4]),
  capacity: random.pick([1, 2, 16]),
  blockMillis: random.pick([1000, 1000, 2000, 3000]),
  finality: random.pick([3, 4, 4, 8]),
  validitySeconds: random.pick([20, 30, 60]),
  settleTimeoutMillis: random.pick([1500, 8000, 25_000]),
  handlerMillis: random.pick([0, 5, 200, 4000]),
  recordsLatency: random.pick(latencies),
  chainLatency: random.pick(latencies),
  callLatency: random.pick(latencies),
  lostWrites: random.pick([0, 0, 0, 5, 30]),
  isAfterHandler: random.perMille(200),
  gasCeiling: random.perMille(100) ? random.between(2000, 12_000) : 0,
  shuffles: random.perMille(300),
  chain: "ledger"
})

const purchaseOf = (random: TrialRandom.TrialRandom, { shops }: Setup): Purchase => ({
  at: random.below(troubledMillis / 2),
  buyer: random.below(3),
  kind: random.pick(["ours", "ours", "x402", "unclaimed"]),
  shop: random.below(shops),
  copies: random.pick([1, 1, 1, 2, 5]),
  isPoor: random.perMille(80),
  patienceMillis: random.pick([0, 0, 0, 1500, 6000])
})

const actOf = (random: TrialRandom.TrialRandom, setup: Setup): Act => {
  const at = random.below(troubledMillis)
  const facilitator = random.below(setup.facilitators)
  const downMillis = random.pick([10, 500, 3000, 12_000, 30_000])
  const millis = random.pick([500, 3000, 10_000, 25_000])
  switch (random.below(11)) {
    case 0:
      return { at, _tag: "Kill", facilitator, downMillis }
    case 1:
      return { at, _tag: "Stop", facilitator, downMillis }
    case 2:
      return { at, _tag: "Freeze", facilitator, millis }
    case 3:
    case 4:
      return { at, _tag: "KillAt", facilitator, place: placeOf(random), passing: random.between(1, 4), downMillis }
    case 5:
      return { at, _tag: "Configure", facilitator, ...configurationOf(random, setup) }
    case 6:
      return { at, _tag: "Skew", facilitator, millis: random.between(-8000, 8000) }
    case 7:
      return { at, _tag: "Records", facilitator, state: random.pick(["cut", "mute", "refused"]), millis }
    case 8:
      return {
        at,
        _tag: "Calls",
        shop: random.below(setup.shops),
        state: random.pick(["cut", "mute", "refused"]),
        millis
      }
    default:
      return { at, _tag: "Chain", trouble: troubleOf(random, setup, millis) }
  }
}

const methods = ["claim", "queue", "plan", "replace", "record", "finish", "takeAnswer", "openLane", "skipTo"]

/** Before or after a checkpoint, a write, or a sending. */
const placeOf = (random: TrialRandom.TrialRandom): string => {
  const phase = random.pick(["before", "after"])
  return random.pick([
    () => random.pick(Checkpoint.checkpoints),
    () => `records.${random.pick(methods)} ${phase}`,
    () => `chain.submit ${phase}`
  ])()
}

const configurationOf = (random: TrialRandom.TrialRandom, { signers }: Setup) => {
  const all = Array.from({ length: signers }, (_, place) => place)
  const some = all.filter(() => random.perMille(600))
  return { signers: some.length === 0 ? [random.below(signers)] : some, batch: random.pick([1, 2, 4]) }
}

const troubleOf = (random: TrialRandom.TrialRandom, setup: Setup, millis: number): ChainTrouble => {
  const node = random.below(setup.nodes)
  switch (random.below(12)) {
    case 0:
    case 1:
      return { _tag: "Reorganise", depth: random.between(1, setup.finality - 1), keepsPool: random.perMille(500) }
    case 2:
      return { _tag: "NodeDown", node, millis }
    case 3:
    case 4:
      return { _tag: "NodeLags", node, blocks: random.between(1, 4), millis }
    case 5:
      return { _tag: "ResponsesLost", node, millis }
    case 6:
      return { _tag: "SendsDropped", node, millis }
    case 7:
      return { _tag: "PoolEmptied" }
    case 8:
      return { _tag: "BlocksHeld", millis }
    case 9:
      return { _tag: "Dear", times: random.pick([2, 5, 200]), millis }
    case 10:
      return { _tag: "SlotUsedByStranger", signer: random.below(setup.signers) }
    default:
      return { _tag: "SettledByStranger" }
  }
}
