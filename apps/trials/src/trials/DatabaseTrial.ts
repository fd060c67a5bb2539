/**
 * G10: whatever happens to the database, nothing that was taken in is lost, nothing is sent that is not on record, and
 * callers are asked to retry.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { Testimony } from "../audit/PaymentStory.ts"
import * as RpcChaos from "../faults/RpcChaos.ts"
import { mutations } from "../Mutation.ts"
import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as FileSizeLimit from "../world/FileSizeLimit.ts"
import * as ReadinessWatch from "../world/ReadinessWatch.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialDatabase } from "../world/TrialDatabase.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"
import * as LostFile from "./LostFile.ts"

const usualCuts = 20
/** Cut connections for each power cut. */
const connectionsPerCut = 10
const faultMillis = 3_000

interface Scene {
  readonly world: TrialWorld.TrialWorld
  readonly facilitator: FacilitatorLife
  readonly database: TrialDatabase
  readonly cuts: number
}

/** Hurts the database and returns the promises that the facilitator's responses broke. */
type Fault = (scene: Scene) => Effect.Effect<ReadonlyArray<Broken> | void>

const times = (count: number, act: (index: number) => Effect.Effect<unknown>): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    act,
    { discard: true }
  )

const sometimeIn = ({ world }: Scene, index: number, most: number) =>
  Effect.sleep(world.random.branch(`fault${index}`).between(0, most))

const postgresFaults: Readonly<Record<string, Fault>> = {
  "power cuts": (scene) =>
    times(scene.cuts, (index) => Effect.andThen(sometimeIn(scene, index, 3_000), scene.database.powerCut)),
  "cut connections": (scene) =>
    times(scene.cuts * connectionsPerCut, (index) =>
      Effect.andThen(sometimeIn(scene, index, 200), scene.database.cutConnections("one"))
    ),
  "read only": ({ database, facilitator, world }) =>
    Effect.gen(function* () {
      yield* Effect.sleep(2_000)
      yield* database.setReadOnly(true)
      const inTrouble = yield* lastingTrouble(facilitator, world.options)
      yield* database.setReadOnly(false)
      return [...inTrouble, ...(yield* ReadinessWatch.saysReady(facilitator.url, world.options))]
    }),
  "disk full": ({ database, facilitator, world }) =>
    Effect.gen(function* () {
      yield* Effect.sleep(2_000)
      const inTrouble = yield* database.fillDisk(lastingTrouble(facilitator, world.options))
      return [...inTrouble, ...(yield* ReadinessWatch.saysReady(facilitator.url, world.options))]
    })
}

/** A file has no connections, and a power cut takes its facilitator with it (G1). */
const sqliteFaults: Readonly<Record<string, Fault>> = {
  "disk full": ({ facilitator, world }) =>
    Effect.gen(function* () {
      yield* Effect.sleep(2_000)
      yield* limit(facilitator, 8_192)
      const inTrouble = yield* lastingTrouble(facilitator, world.options)
      yield* limit(facilitator, "unlimited")
      return [...inTrouble, ...(yield* ReadinessWatch.saysReady(facilitator.url, world.options))]
    }),
  "file deleted": ({ facilitator, world }) =>
    Effect.gen(function* () {
      const found =
        world.file === undefined ? [] : yield* LostFile.loseAndRecover(facilitator, world.file, world.options)
      return [...found, ...(yield* ReadinessWatch.saysReady(facilitator.url, world.options))]
    })
}

/** The trouble is seen, and lasts for a while. */
const lastingTrouble = ({ url }: FacilitatorLife, options: TrialOptions) =>
  Effect.tap(ReadinessWatch.saysTrouble(url, options), () => Effect.sleep(faultMillis))

const limit = (facilitator: FacilitatorLife, bytes: number | "unlimited") => {
  const pid = facilitator.pid()
  return pid === undefined ? Effect.void : FileSizeLimit.set(pid, bytes)
}

/** Runs the trial, by default with a world for each fault; its size counts the power cuts. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions,
  { isOneWorld = false }: { readonly isOneWorld?: boolean } = {}
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed> {
  const faults = Object.entries(options.store === "postgres" ? postgresFaults : sqliteFaults)
  const worlds = isOneWorld ? [inTurn(faults)] : faults
  const runs = yield* Effect.forEach(worlds, ([name, fault]) => Effect.scoped(suffer(options, name, fault)), {
    concurrency: 2
  })
  return {
    goal: "G10",
    title: worlds.map(([name]) => name).join(", "),
    options,
    figures: Object.assign({}, ...runs.map(({ figures }) => figures)),
    findings: runs.flatMap(({ findings }) => findings)
  }
})

/** The faults one after another, as one. */
const inTurn = (faults: ReadonlyArray<readonly [string, Fault]>): readonly [string, Fault] => [
  faults.map(([name]) => name).join(", "),
  (scene) =>
    Effect.map(
      Effect.forEach(faults, ([, fault]) => fault(scene)),
      (broken) => broken.flatMap((found) => found ?? [])
    )
]

const suffer = Effect.fnUntraced(function* (
  options: TrialOptions,
  name: string,
  fault: Fault
): Effect.fn.Return<Pick<TrialReport, "figures" | "findings">, Anvil.AnvilFailed, Scope.Scope> {
  const cuts = options.size ?? usualCuts
  const world = yield* TrialWorld.make({ ...options, seed: `${options.seed}/${name}` })
  const line = yield* RpcChaos.make({ upstream: world.chain.rpcUrl, random: world.random.branch("line") })
  const facilitator = yield* world.facilitator({ rpcUrl: line.url })
  yield* facilitator.listening
  const { mutation } = options
  if (mutation !== undefined && mutations[mutation].commitsLater) yield* world.database?.commitLater ?? Effect.void
  const outcome = yield* TrialAct.underLoad(
    world,
    { facilitators: [facilitator.url], concurrency: 12, payments: 60, validSeconds: 300 },
    fault({ world, facilitator, database: world.database ?? nothing, cuts })
  )
  const { said } = outcome
  const unavailable = said.journal.filter(
    (one) => one._tag === "OutcomeReceived" && one.told._tag === "CannotTell"
  ).length
  const findings = [...(outcome.result ?? []), ...otherStatuses(said), ...unrecorded(said, line), ...outcome.findings]
  yield* Effect.logInfo(`${name}: ${findings.length} differences, ${facilitator.lives.length} lives`)
  return {
    figures: {
      [`${name}: payments`]: said.books.length,
      [`${name}: responds with 503`]: unavailable,
      [`${name}: lives`]: facilitator.lives.length,
      [`${name}: drain, seconds`]: outcome.drainSeconds
    },
    findings: findings.map(({ check, detail }) => ({ check, detail: `${name}: ${detail}` }))
  }
})

/** The database of a trial without one: it has no faults. */
const nothing: TrialDatabase = {
  url: "",
  run: () => Effect.succeed([]),
  commitLater: Effect.void,
  powerCut: Effect.void,
  cutConnections: () => Effect.void,
  setReadOnly: () => Effect.void,
  fillDisk: (during) => during
}

/** Unavailable records are reported as 503 and as nothing else. */
const otherStatuses = ({ journal }: Testimony): ReadonlyArray<Broken> =>
  journal.flatMap((line) =>
    line._tag === "OutcomeReceived" && line.told._tag === "CannotTell" && line.told.httpStatus !== 503
      ? [{ check: "other-status", detail: `a request was answered ${line.told.httpStatus}` }]
      : []
  )

/** Transactions sent to a node carry only payments whose records have them as planned. */
const unrecorded = ({ books, journal }: Testimony, { broadcasts }: RpcChaos.RpcChaos): ReadonlyArray<Broken> => {
  const planned = new Set(
    books.filter(({ history }) => history.some(({ status }) => status === "planned")).map(({ nonce }) => nonce.slice(2))
  )
  const asked = new Set(journal.flatMap((line) => (line._tag === "RequestSent" ? [line.payment.nonce.slice(2)] : [])))
  const unknown = [...asked].filter((nonce) => !planned.has(nonce))
  return unknown.flatMap((nonce) =>
    broadcasts.some(({ bytes }) => bytes.includes(nonce))
      ? [
          {
            check: "unrecorded-broadcast",
            detail: `the authorization 0x${nonce} was sent and is not on record as planned`
          }
        ]
      : []
  )
}
