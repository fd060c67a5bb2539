/**
 * Payment channels: a shop that is killed at every checkpoint, those of deposits, draws, claims and payouts, while buyers draw on their
 * channels and others look on. At every moment claimed <= charged <= signed <= balance; at the end each payer has lost what it was
 * charged, and everything that was charged is claimed and paid out.
 */
import { Checkpoint } from "@pontage/core"
import type { Anvil } from "@pontage/evm/testing"
import { ChannelContracts } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts"

import * as ChannelAudit from "../audit/ChannelAudit.ts"
import * as ChannelBuyers from "../channels/ChannelBuyers.ts"
import * as ChannelLeavers from "../channels/ChannelLeavers.ts"
import * as ChannelStory from "../channels/ChannelStory.ts"
import * as ChannelWitness from "../channels/ChannelWitness.ts"
import { type Failpoint, toText } from "../faults/Failpoint.ts"
import * as RpcChaos from "../faults/RpcChaos.ts"
import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"
import * as ChannelWeather from "./ChannelWeather.ts"
import * as ReorganisationTrial from "./ReorganisationTrial.ts"

const program = "apps/trials/src/channels/ChannelShopProcess"

/** Rounds of calls of each buyer after the last kill. */
const usualRounds = 6
/** Buyers of each kind. */
const usualCrowd = 3

/** Checkpoints that a shop of channels does not pass: payments wait in a queue before they are settled, draws end by their own, fees do not rise here. */
const unpassed: ReadonlySet<string> = new Set(["queued", "re-signed", "replaced", "finishing", "finished"])

const passed = [...Checkpoint.checkpoints, ...Checkpoint.channelCheckpoints].filter((name) => !unpassed.has(name))

const isOfRefunds = (name: string): boolean => name.startsWith("refund-")

/** Passings before a kill: some work is done in every life, so that there is something to lose. */
const passingOf = (name: string): number => {
  if (isOfRefunds(name)) return 1
  return name.startsWith("draw-") ? 4 : 2
}

/** A kill at each checkpoint, those of refunds first: a channel has eight refunds a day. */
const everyKill: ReadonlyArray<Failpoint> = [
  ...passed.filter(isOfRefunds),
  ...passed.filter((name) => !isOfRefunds(name))
].map((checkpoint) => ({ checkpoint, action: "kill", passing: passingOf(checkpoint) }))

/** The faults that strike a run. */
interface Course {
  readonly kills: ReadonlyArray<Failpoint>
  /** Milliseconds until a charge is claimed. */
  readonly claimAgeMillis: number
  /** Milliseconds for which the audit waits for differences that time may mend. */
  readonly patienceMillis: number
  /** The number of reorganisations meanwhile. */
  readonly reorganisations: number
  /** The number of troubles while the payers withdraw; without it no payer withdraws. */
  readonly troubles?: number
  /** The number of kills of one of two instances over the same records and the same ledger; without it there is one instance. */
  readonly duels?: number
}

/**
 * A mutation shows in a run without kills, whose charges are claimed after three seconds: other draws have begun by then. A forgotten
 * ledger shows after a kill before which nothing was claimed, so that the ledger alone had the charges.
 */
const courseOf = ({ mutation, patienceMillis = 60_000 }: TrialOptions): Course => {
  const calm = { kills: [], patienceMillis, reorganisations: 0 }
  if (mutation === undefined) return { ...calm, kills: everyKill, claimAgeMillis: 1_000 }
  if (mutation !== "ledger-forgotten") return { ...calm, claimAgeMillis: 3_000, patienceMillis: 10_000 }
  return { ...calm, kills: [{ checkpoint: "draw-ended", action: "kill", passing: 12 }], claimAgeMillis: 600_000 }
}

/** Reorganisations over deposits, claims and payouts; their number with a mutation, which shows sooner. */
const reorganisations = { usual: 12, mutated: 6 }

/** Runs the trial; its size is the number of buyers of each kind. */
export const run = (options: TrialOptions) => strike(options, courseOf(options))

/** Runs it with reorganisations up to twelve blocks deep instead of kills. */
export const runReorganised = (options: TrialOptions) =>
  strike(options, {
    kills: [],
    claimAgeMillis: 1_000,
    patienceMillis: options.patienceMillis ?? 90_000,
    reorganisations: options.mutation === undefined ? reorganisations.usual : reorganisations.mutated
  })

/** Troubles while payers withdraw; their number with a mutation, which shows without kills. */
const troubles = { usual: 12, mutated: 0 }

/** Nothing is claimed for its age, so that only the sight of a withdrawal has a charge claimed. */
const never = 3_600_000

/** Seconds of the chain from the begin of a withdrawal to its end. */
const withdrawSeconds = 30

/** Runs it with payers that withdraw their money at random moments, under kills, a lagging node and dear gas. */
export const runWithdrawal = (options: TrialOptions) =>
  strike(options, {
    kills: [],
    claimAgeMillis: never,
    patienceMillis: options.patienceMillis ?? (options.mutation === undefined ? 60_000 : 10_000),
    reorganisations: 0,
    troubles: options.mutation === undefined ? troubles.usual : troubles.mutated
  })

/** Kills of one of two instances; their number with a mutation, which shows sooner. */
const duels = { usual: 10, mutated: 2 }

/** Milliseconds by which the clocks of two instances are off: a clock that is off by 30 seconds sells nothing. */
const clockOff = 20_000

/** Runs it with two instances on one PostgreSQL, which buyers call in turn. Their clocks are apart, and one after the other is killed. */
export const runInstances = (options: TrialOptions) =>
  strike(
    { ...options, store: "postgres" },
    {
      kills: [],
      claimAgeMillis: 1_000,
      patienceMillis: options.patienceMillis ?? (options.mutation === undefined ? 60_000 : 10_000),
      reorganisations: 0,
      duels: options.mutation === undefined ? duels.usual : duels.mutated
    }
  )

/** The shop, its buyers, and their acts beside buying. */
interface Scene {
  readonly world: TrialWorld.TrialWorld
  readonly shop: FacilitatorLife
  /** The instances of the shop. */
  readonly shops: ReadonlyArray<FacilitatorLife>
  readonly buyers: ReadonlyArray<ChannelBuyers.ChannelBuyer>
  readonly payTo: string
  /** The payers that withdraw; `undefined` where none does. */
  readonly leavers: ChannelLeavers.ChannelLeavers | undefined
  /** The faults that are not a checkpoint's, one after another. */
  readonly faults: Effect.Effect<unknown>
}

const kindOf = (index: number) => ChannelBuyers.buyerKinds[index % ChannelBuyers.buyerKinds.length] ?? "ours"

const staged = Effect.fnUntraced(function* (
  options: TrialOptions,
  { claimAgeMillis, duels: killings, kills, reorganisations: rounds, troubles: withdrawing }: Course
): Effect.fn.Return<Scene, Anvil.AnvilFailed, Scope.Scope> {
  const crowd = options.size ?? usualCrowd
  const world = yield* TrialWorld.make(options, {
    payers: crowd * ChannelBuyers.buyerKinds.length,
    ...(rounds > 0 && { finalityDepth: ReorganisationTrial.finalityDepth })
  })
  yield* ChannelContracts.deploy(world.chain)
  const payTo = privateKeyToAddress(generatePrivateKey())
  const channels = {
    payTo,
    authorizerKey: generatePrivateKey(),
    claimAgeMillis,
    validSeconds: options.validSeconds ?? 600
  }
  const random = world.random.branch("line")
  const line = yield* RpcChaos.make({ upstream: world.chain.rpcUrl, random, lagBlocks: ChannelWeather.lagBlocks })
  // Every life but the last ends at a checkpoint.
  const lives = kills.map((one) => [one])
  const isWithdrawing = withdrawing !== undefined
  const ahead = killings === undefined ? channels : { ...channels, clockAheadMillis: clockOff }
  const shop = yield* world.facilitator(
    { channels: ahead, ...(isWithdrawing && { rpcUrl: line.url }) },
    { program, lives }
  )
  yield* shop.listening
  const behind = { channels: { ...channels, clockAheadMillis: -clockOff } }
  const others = killings === undefined ? [] : [yield* world.facilitator(behind, { program })]
  const shops = [shop, ...others]
  yield* Effect.forEach(shops, ({ listening }) => listening)
  const urls = shops.map(({ url }) => url)
  const buyers = world.chain.accounts.payers.map((account, index) =>
    ChannelBuyers.make(world, urls, kindOf(index), account)
  )
  const reorganising = Effect.forEach(Array.from({ length: rounds }), (_, round) =>
    ReorganisationTrial.reorganise(world, round)
  )
  const faults = isWithdrawing
    ? ChannelWeather.troubles(world, shop, line, withdrawing)
    : Effect.andThen(reorganising, ChannelWeather.killings(world, shops, killings ?? 0))
  const leavers = isWithdrawing ? yield* ChannelLeavers.make(world, shop.url, withdrawSeconds) : undefined
  return { world, shop, shops, buyers, payTo, leavers, faults }
})

const strike = Effect.fnUntraced(function* (
  options: TrialOptions,
  course: Course
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const { kills, patienceMillis, reorganisations: rounds } = course
  const began = performance.now()
  const scene = yield* staged(options, course)
  const { buyers, leavers, payTo, shop, shops, world } = scene
  const looks: Array<ChannelAudit.ChannelLook> = []
  const watching = yield* Effect.forkScoped(watch(world, shop.url, buyers, looks))
  const before = yield* Effect.forEach(buyers, ({ payer }) => ChannelWitness.tokensOf(world, payer))
  const striking = yield* Effect.forkScoped(scene.faults)
  yield* shopping(scene, () => striking.pollUnsafe() !== undefined && missedIn(shop, kills).length === 0)
  if (leavers !== undefined) yield* leavers.all(buyers)
  yield* Fiber.interrupt(watching)
  const mended = rounds > 0 ? undepositedByReorganisation : new Set<string>()
  const ending = { world, shop, shops, buyers, looks, before, payTo, patienceMillis, mended }
  const { findings, testimony } = yield* audited(ending)
  if (findings.length > 0) options.outputs?.push(...(yield* ChannelStory.tell(world, shop.url)))
  return {
    goal: "channels",
    title: titleOf(course),
    options,
    figures: {
      kills: shops.reduce((sum, { lives }) => sum + lives.length - 1, 0),
      ...figuresOf(buyers, testimony),
      ...(leavers && { "withdrawals begun": leavers.counts.begun, "withdrawals paid": leavers.counts.paid }),
      looks: looks.length,
      seconds: Math.round((performance.now() - began) / 1000)
    },
    findings: [...findings, ...missedIn(shop, kills).map((one) => ({ check: "not-struck", detail: toText(one) }))]
  }
})

const titleOf = ({ duels: killings, kills, reorganisations: rounds, troubles: withdrawing }: Course): string => {
  if (killings !== undefined) return `two shops over one ledger of payment channels, ${killings} kills of one of them`
  return withdrawing === undefined
    ? `kill -9 at ${kills.length} checkpoints of a shop of payment channels, and ${rounds} reorganisations`
    : `payers withdraw from a shop of payment channels, under ${withdrawing} kills, lags and dear times`
}

const missedIn = ({ struck }: FacilitatorLife, kills: ReadonlyArray<Failpoint>) =>
  kills.filter((one) => !struck.has(toText(one)))

/** Differences of a look that a deposit in a lost block makes, until it is in another one. */
const undepositedByReorganisation: ReadonlySet<string> = new Set(["signed-above-balance"])

/** Buys round by round, until every fault has happened and some rounds more. */
const shopping = ({ buyers, leavers, shop: { listening }, world }: Scene, isStruck: () => boolean) => {
  const began = performance.now()
  const patience = world.options.patienceMillis ?? 300_000
  const isOver = () => isStruck() || performance.now() - began > patience
  return Effect.forEach(
    buyers,
    (buyer, index) =>
      Effect.gen(function* () {
        const luck = world.random.branch(`buyer${index}`)
        let left = usualRounds
        for (let round = 0; left > 0; round++) {
          if (isOver()) left--
          yield* listening
          yield* buyer.buy(luck.branch(round))
          if (leavers !== undefined) yield* leavers.perhaps(buyer, luck.branch(`leave${round}`))
        }
      }),
    { concurrency: "unbounded", discard: true }
  )
}

/** Pause between two looks at all channels, in milliseconds. */
const lookPause = 150

const watch = (
  world: TrialWorld.TrialWorld,
  shop: string,
  buyers: ReadonlyArray<ChannelBuyers.ChannelBuyer>,
  looks: Array<ChannelAudit.ChannelLook>
) =>
  Effect.forever(
    Effect.gen(function* () {
      for (const buyer of buyers) {
        const seen = yield* ChannelWitness.look(world, shop, buyer)
        if (seen !== undefined) looks.push(seen)
      }
      yield* Effect.sleep(lookPause)
    })
  )

interface Ending extends Pick<Scene, "world" | "shop" | "shops"> {
  readonly buyers: ReadonlyArray<ChannelBuyers.ChannelBuyer>
  readonly looks: ReadonlyArray<ChannelAudit.ChannelLook>
  readonly before: ReadonlyArray<bigint>
  readonly payTo: string
  readonly patienceMillis: number
  /** Checks whose differences during the looks do not count, and may mend at the end. */
  readonly mended: ReadonlySet<string>
}

/** Waits until the audit finds nothing, or nothing but what time cannot mend, and returns its last findings. */
const audited = Effect.fnUntraced(function* (ending: Ending) {
  const { before, buyers, looks, mended, patienceMillis, payTo, shop, shops, world } = ending
  const began = performance.now()
  while (true) {
    yield* shop.listening
    const deaths = shops.flatMap(({ lives }) => lives.flatMap(({ ended }) => ended ?? []))
    const ends = yield* Effect.forEach(buyers, (buyer, index) => {
      const own = looks.filter(({ channelId }) => channelId === buyer.signed()?.channelId)
      return ChannelWitness.end(world, shop.url, buyer, { before: before[index] ?? 0n, deaths, looks: own })
    })
    const known = ends.filter((end) => end !== undefined)
    const paidOut = yield* ChannelWitness.tokensOf(world, payTo)
    const testimony: ChannelAudit.ChannelTestimony = { looks, ends: known, paidOut }
    const silent = buyers.filter((_, index) => ends[index] === undefined)
    const seen = [
      ...ChannelAudit.duringLooks(looks).filter(({ check }) => !mended.has(check)),
      ...ChannelAudit.findings({ ...testimony, looks: [] })
    ]
    const found = mended.size === 0 ? ChannelAudit.findings(testimony) : seen
    const findings: ReadonlyArray<Broken> = [
      ...found,
      ...silent.map(({ calls, payer }) => ({ check: "no-channel", detail: `${payer}: ${calls.at(-1)?.detail}` }))
    ]
    const isOver = found.some((one) => ChannelAudit.isLasting(one) && !mended.has(one.check))
    if (findings.length === 0 || isOver || performance.now() - began > patienceMillis) return { findings, testimony }
    yield* Effect.sleep(500)
  }
})

const figuresOf = (
  buyers: ReadonlyArray<ChannelBuyers.ChannelBuyer>,
  { ends }: ChannelAudit.ChannelTestimony
): Readonly<Record<string, number>> => {
  const calls = buyers.flatMap((buyer) => buyer.calls)
  const count = (which: ChannelBuyers.ChannelCall["end"]) => calls.filter(({ end }) => end === which).length
  const sum = (of: (end: ChannelAudit.ChannelEnd) => bigint) => Number(ends.reduce((total, end) => total + of(end), 0n))
  return {
    channels: ends.length,
    calls: calls.length,
    served: count("served"),
    refused: count("refused"),
    lost: count("lost"),
    "charges forgiven, in tokens": sum(({ mercy }) => mercy),
    "served, in tokens": sum(({ served }) => served),
    "charged, in tokens": sum(({ books }) => books.charged),
    "claimed, in tokens": sum(({ claimed }) => claimed),
    "deposited, in tokens": sum(({ balance }) => balance)
  }
}
