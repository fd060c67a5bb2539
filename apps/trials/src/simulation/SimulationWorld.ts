/**
 * A whole world of a simulation: chain, records, facilitators, shops and buyers of a plan, and what is seen of them.
 */
import { type Settled, Settlement } from "@pontage/core"

import * as SimulatedEvm from "./evm/SimulatedEvm.ts"
import type { Violation } from "./Invariant.ts"
import type { PurchaseStory } from "./Purchases.ts"
import * as RecordWatch from "./RecordWatch.ts"
import * as RunWatch from "./RunWatch.ts"
import * as SimulationGround from "./SimulationGround.ts"
import type { SimulationMutation } from "./SimulationMutation.ts"
import type { SimulationPlan } from "./SimulationPlan.ts"
import * as FacilitatorByWire from "./world/FacilitatorByWire.ts"
import * as FacilitatorPlaces from "./world/FacilitatorPlaces.ts"
import type { SimulatedChain } from "./world/SimulatedChain.ts"
import type { LeaseRow } from "./world/SimulatedLeases.ts"
import * as SimulatedLedger from "./world/SimulatedLedger.ts"
import type { SimulatedProcess } from "./world/SimulatedProcess.ts"
import * as SimulatedRecords from "./world/SimulatedRecords.ts"
import * as SimulatedShop from "./world/SimulatedShop.ts"
import * as Strikes from "./world/Strikes.ts"
import * as Wire from "./world/Wire.ts"

/** A world. */
export interface SimulationWorld extends SimulationGround.SimulationGround {
  readonly mutation: SimulationMutation
  readonly chain: SimulatedChain
  readonly records: SimulatedRecords.SimulatedRecords
  readonly leases: Map<string, LeaseRow>
  readonly places: ReadonlyArray<FacilitatorPlaces.FacilitatorPlace>
  /** The wires between shops and facilitators. */
  readonly calls: ReadonlyArray<Wire.WireWeather>
  readonly shops: ReadonlyArray<SimulatedShop.SimulatedShop>
  readonly purchases: Array<PurchaseStory>
  readonly runs: Array<RunWatch.HandlerRun>
  readonly strikes: Strikes.Strikes
  /** An answer that was owed without a claim has left its facilitator, or was taken by one that is dead. */
  readonly isAnswerGone: (paymentId: string) => boolean
  /** Promises were made: they are to end before the next step. */
  promised: boolean
}

/** The world of a plan, at its beginning. */
export const make = (plan: SimulationPlan, mutation: SimulationMutation, tells: boolean): SimulationWorld => {
  const ground = SimulationGround.make(plan, tells)
  const { random, startProcess, story, time, violate } = ground
  const { setup } = plan
  const waiting: { promised: () => void } = { promised: () => undefined }
  const surroundings = { time, random: random.branch("chain"), note: (line: string) => story.tell(() => line) }
  const chain =
    setup.chain === "evm"
      ? SimulatedEvm.make(surroundings, { ...setup, broken: mutation.scheme, promised: () => waiting.promised() })
      : SimulatedLedger.make(surroundings, { ...setup, broken: mutation.scheme })
  const debts: Debts = { taken: new Map(), given: new Set() }
  const granted = new Set<string>()
  const { records, watched } = watchedRecords(ground, mutation, { chain, debts, granted })
  const calls = Array.from({ length: setup.shops }, () => Wire.fair(setup.callLatency))
  const runs: Array<RunWatch.HandlerRun> = []
  const places = FacilitatorPlaces.make(setup, chain)
  const shops = calls.map((weather, index) =>
    opened(
      { ground, chain, records, runs, places, granted, watched, debts },
      startProcess(`shop-${index + 1}`),
      weather
    )
  )
  const world: SimulationWorld = {
    ...ground,
    mutation,
    chain,
    records,
    leases: new Map(),
    places,
    calls,
    shops,
    purchases: [],
    runs,
    strikes: Strikes.make(),
    isAnswerGone: (paymentId) => isGone(debts, places, paymentId),
    promised: false
  }
  waiting.promised = () => {
    world.promised = true
  }
  chain.onSubmit(({ bytes, process }) => {
    if (isOnRecord(world, bytes)) return
    const words = `${process} sends bytes that are not on record: ${bytes.slice(0, 80)}`
    violate({ invariant: "write-first", words })
  })
  for (const place of places) FacilitatorPlaces.launch(world, place)
  return world
}

/** Answers that callers without a claim are owed, by the payments: which process has taken one last, and those that were given. */
interface Debts {
  readonly taken: Map<string, string>
  readonly given: Set<string>
}

/** Of several facilitators one may have taken what the others do not know that it still owes. */
const isGone = (
  { given, taken }: Debts,
  places: ReadonlyArray<FacilitatorPlaces.FacilitatorPlace>,
  paymentId: string
): boolean => {
  const taker = taken.get(paymentId)
  if (taker === undefined || given.has(paymentId) || places.length > 1) return taker !== undefined
  return places.every(({ running }) => running?.process.name !== taker || !running.process.isAlive())
}

interface Sight extends Pick<SimulationWorld, "chain"> {
  readonly debts: Debts
  readonly granted: Set<string>
}

/** Records that are looked at after every write. */
const watchedRecords = (
  { plan, startProcess, story, time, violate }: SimulationGround.SimulationGround,
  mutation: SimulationMutation,
  { chain, debts, granted }: Sight
) => {
  const watch: { look: (process: string) => void } = { look: () => undefined }
  const { context } = startProcess("database")
  const records = SimulatedRecords.make({
    time,
    context,
    broken: mutation.store,
    written: (process) => watch.look(process)
  })
  const watched: RecordWatch.Watched = {
    chain,
    records,
    granted,
    // The modelled nodes hear of a block at different times, also on their best days.
    isCertain:
      plan.setup.chain === "ledger" &&
      plan.acts.every((act) => act._tag !== "Chain" || !uncertain.has(act.trouble._tag)),
    now: time.now,
    changed: (words) => story.tell(() => words),
    debtTaken: (paymentId, process) => debts.taken.set(paymentId, process)
  }
  const { look } = RecordWatch.make(watched)
  watch.look = (process) => {
    const found = look(process) ?? tooDear(plan, chain)
    if (found !== undefined) violate(found)
  }
  return { records, watched }
}

const uncertain: ReadonlySet<string> = new Set(["Reorganise", "NodeLags"])

/** A claim was granted before the money has moved: the payer has to have it. */
const judgeGrant = ({ granted, ground, records, watched }: Street, { execution, paymentId, status }: Settled): void => {
  if (execution !== "granted" || Settlement.isSettled(status)) return
  granted.add(paymentId)
  const record = records.read(records.disk.find(paymentId))
  const found = record && RecordWatch.overdrawn(watched, record)
  if (found !== undefined) ground.violate(found)
}

const tooDear = ({ setup }: SimulationPlan, { truth }: SimulatedChain): Violation | undefined => {
  const { gasCeiling: ceiling } = setup
  if (ceiling === 0 || truth.costs() <= BigInt(ceiling)) return undefined
  return { invariant: "gas-is-a-budget", words: `settling has cost ${truth.costs()} of the ${ceiling} that it may` }
}

const isOnRecord = ({ chain, records }: SimulationWorld, bytes: string): boolean =>
  chain.signers.some((signer) =>
    records
      .read(records.disk.openTransactions(`${chain.network} ${signer}`))
      .some(({ attempts }) => attempts.some((attempt) => attempt.bytes === bytes))
  )

interface Street extends Pick<SimulationWorld, "chain" | "records" | "runs" | "places"> {
  readonly ground: SimulationGround.SimulationGround
  readonly granted: Set<string>
  readonly watched: RecordWatch.Watched
  readonly debts: Debts
}

const opened = (street: Street, process: SimulatedProcess, weather: Wire.WireWeather): SimulatedShop.SimulatedShop => {
  const { chain, ground, places } = street
  const { plan, time } = ground
  const listening = () => places.flatMap(({ running }) => (running?.service() === undefined ? [] : [running]))
  return SimulatedShop.open({
    process,
    facilitator: FacilitatorByWire.make(process, time, weather, listening, {
      granted: (settled) => judgeGrant(street, settled),
      given: (paymentId) => street.debts.given.add(paymentId)
    }),
    scheme: chain.server(Wire.link(process, time, Wire.fair([0, 0]), () => undefined)),
    network: chain.network,
    payTo: chain.payee,
    validitySeconds: plan.setup.validitySeconds,
    handlerMillis: plan.setup.handlerMillis,
    isAfterHandler: plan.setup.isAfterHandler,
    reports: runReports(street, process)
  })
}

const runReports = ({ ground, records, runs }: Street, shop: SimulatedProcess): SimulatedShop.RunReports => ({
  began: (paymentId) => {
    const run: RunWatch.HandlerRun = { paymentId, shop, at: ground.time.now(), state: "running" }
    runs.push(run)
    ground.story.tell(() => `${shop.name} runs its handler for ${paymentId.slice(0, 10)}`)
    const isServed = records.read(records.disk.find(paymentId))?.execution.served === true
    const found = RunWatch.judge(runs, run, isServed)
    if (found !== undefined) ground.violate(found)
    return runs.length - 1
  },
  ended: (place, end) => {
    const run = runs[place]
    if (run !== undefined) run.state = end
    ground.story.tell(() => `${shop.name}: the run for ${run?.paymentId.slice(0, 10)} is ${end}`)
  }
})
