/**
 * The places where facilitators run: what is started there, how it reaches records and chain, and when it is started again.
 */
import { type Checkpoint, LaneLeases } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { SimulationGround } from "../SimulationGround.ts"
import type { SimulationMutation } from "../SimulationMutation.ts"
import type { Setup } from "../SimulationPlan.ts"
import type { SimulatedChain } from "./SimulatedChain.ts"
import * as SimulatedFacilitator from "./SimulatedFacilitator.ts"
import * as SimulatedLeases from "./SimulatedLeases.ts"
import type { SimulatedRecords } from "./SimulatedRecords.ts"
import type { Strikes } from "./Strikes.ts"
import * as Wire from "./Wire.ts"

/** A facilitator's place: what runs there, and how it is reached. */
export interface FacilitatorPlace {
  readonly name: string
  readonly records: Wire.WireWeather
  readonly chain: Wire.WireWeather
  signers: ReadonlyArray<number>
  batch: number
  /** The number of the chain's assets that are configured. */
  assets: number
  skewMillis: number
  running: SimulatedFacilitator.RunningFacilitator | undefined
  starts: number
  /** It is to be started again then; true Unix milliseconds. */
  downUntil: number
}

/** The surroundings of places. */
export interface Country extends SimulationGround {
  readonly mutation: SimulationMutation
  readonly chain: SimulatedChain
  readonly records: SimulatedRecords
  readonly leases: Map<string, SimulatedLeases.LeaseRow>
  readonly strikes: Strikes
}

/** Places where nothing runs yet. */
export const make = (setup: Setup, chain: SimulatedChain): ReadonlyArray<FacilitatorPlace> =>
  Array.from({ length: setup.facilitators }, (_, place) => ({
    name: `facilitator-${place + 1}`,
    records: { ...Wire.fair(setup.recordsLatency), lost: setup.lostWrites },
    chain: Wire.fair(setup.chainLatency),
    signers: chain.signers.map((_signer, index) => index),
    batch: setup.batch,
    assets: chain.assets.length,
    skewMillis: 0,
    running: undefined,
    starts: 0,
    downUntil: 0
  }))

/** The shortest time from a process's death to its next start, which is also the interval of the check, in milliseconds. */
const leastDownMillis = 1000

/** Starts the facilitator of a place, now, and again after each of its deaths. */
export const launch = (world: Country, place: FacilitatorPlace): void => {
  const { chain, mutation, leases, plan, records, story, strikes, time } = world
  place.starts++
  const process = world.startProcess(`${place.name}.${place.starts}`)
  process.skewMillis = place.skewMillis
  const tap: Wire.Tap = (who, what, phase) => strikes.pass(place.name, `${what} ${phase}`, who)
  const toRecords = Wire.link(process, time, place.records, tap)
  const toChain = Wire.link(process, time, place.chain, tap)
  const node = process.random.below(chain.nodes)
  const scheme = chain.facilitator(toChain, {
    signers: place.signers,
    batch: place.batch,
    assets: place.assets,
    nodes: [node]
  })
  const ceiling = plan.setup.gasCeiling
  const isSole = plan.setup.facilitators === 1
  const shared = SimulatedLeases.make(leases, toRecords, time, process.name, plan.setup.facilitators)
  const kept = isSole ? Effect.runSync(Effect.provide(LaneLeases.LaneLeases, LaneLeases.layerSole)) : shared
  const strike: Checkpoint.Strike = (name) =>
    Effect.suspend(() => {
      strikes.pass(place.name, name, process)
      return process.isAlive() ? Effect.void : Effect.never
    })
  story.tell(() => `${process.name} starts: signers ${place.signers.join()}, batches of ${place.batch}`)
  process.onDeath(() => {
    story.tell(() => `${process.name} is dead`)
    const again = () => {
      if (time.now() >= place.downUntil) return launch(world, place)
      time.after(leastDownMillis, `${place.name} is down`, again)
    }
    time.after(leastDownMillis, `${place.name} is down`, again)
  })
  place.running = SimulatedFacilitator.start(
    {
      process,
      schemes: [scheme],
      store: records.over(process, toRecords),
      leases: mutation.leases(kept),
      options: {
        settleTimeoutMillis: plan.setup.settleTimeoutMillis,
        drainMillis: 0,
        ...(ceiling > 0 && !mutation.ignoresCeilings && { gasCeilings: { total: () => BigInt(ceiling) } })
      },
      strike
    },
    (message) => {
      story.tell(() => `${process.name} does not start: ${message}`)
      process.kill()
    }
  )
}
