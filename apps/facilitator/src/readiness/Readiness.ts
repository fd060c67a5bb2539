/**
 * Whether the service can do its work: everything in `ReadinessChecks` is fine. The answer is kept for two seconds and each look may
 * take two: asking often asks the chains no more often, and what breaks shows within five. What costs no question to a chain
 * is looked at all the time, and so is what is in trouble, so that payments are taken again when it is mended.
 */
import { FacilitatorSchemeRegistry, type IntakeGate, LaneAdmission, PaymentStore } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"

import * as FacilitatorMetrics from "../metrics/FacilitatorMetrics.ts"
import * as LaneWatch from "../metrics/LaneWatch.ts"
import * as ReadinessCheck from "./ReadinessCheck.ts"
import * as ReadinessChecks from "./ReadinessChecks.ts"

const report = {
  ready: Schema.Boolean,
  store: Schema.Boolean,
  chains: Schema.Array(
    Schema.Struct({
      scheme: Schema.String,
      network: Schema.String,
      reachable: Schema.Boolean,
      signers: Schema.Array(
        Schema.Struct({
          address: Schema.String,
          /** In the chain's smallest native unit. */
          balance: Schema.String,
          sufficient: Schema.Boolean
        })
      )
    })
  ),
  /** Empty while the store cannot be asked. */
  lanes: Schema.Array(
    Schema.Struct({
      network: Schema.String,
      address: Schema.String,
      waiting: Schema.Int,
      flights: Schema.Int,
      moving: Schema.Boolean,
      gap: Schema.Int,
      signer: Schema.Boolean
    })
  ),
  /** Everything that was looked at; `troubles` is empty where all is well. */
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      troubles: Schema.Array(Schema.Struct({ problem: Schema.String, mend: Schema.String }))
    })
  )
}

/** What was found. */
export const ReadinessReport = Schema.Struct(report)

/** What was found, where something is missing. */
export class NotReady extends Schema.Error<NotReady>("@pontage/facilitator/NotReady")(report, {
  httpApiStatus: 503,
  description: "Something is missing: checks says for each what is wrong and what mends it"
}) {}

/** What is watched. */
export interface Options {
  /** What each signer must hold, by network, in its smallest native unit. */
  readonly minimumGas: (network: string) => bigint
  /** Callers whose gas is shown by itself in the metrics. */
  readonly budgetedCallers: ReadonlyArray<string>
  /** The door of the facilitator: closed while a trouble stops payments. */
  readonly intake: IntakeGate.IntakeGate
}

/** The service. */
export class Readiness extends Context.Service<
  Readiness,
  { readonly report: Effect.Effect<typeof ReadinessReport.Type> }
>()("@pontage/facilitator/Readiness") {
  static readonly layer = ({ budgetedCallers, intake, minimumGas }: Options) =>
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const store = yield* PaymentStore.PaymentStore
        const { schemes } = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
        const admission = Option.getOrUndefined(yield* Effect.serviceOption(LaneAdmission))
        const lanes = LaneWatch.make(store, schemes, budgetedCallers, admission)
        const checks = ReadinessChecks.all({ store, schemes, lanes, minimumGas }).map((check) => entered(check, intake))
        const look = Effect.forEach(checks, ({ look }) => look, { concurrency: "unbounded" }).pipe(
          Effect.map(reportOf),
          Effect.tap(({ chains }) => FacilitatorMetrics.balances(chains))
        )
        yield* Effect.forkScoped(Effect.forever(watch(checks)))
        return Readiness.of({ report: kept(look) })
      })
    )
}

const keptFor = Duration.seconds(2)
const keptForNanos = Duration.toNanosUnsafe(keptFor)
/** How soon it is looked again whether payments may be taken again. */
const stoppedFor = "500 millis"

/** Everybody who asks meanwhile gets one answer. It ages by the time that nobody sets: a clock set back would keep it for as long. */
const kept = <A>(look: Effect.Effect<A>): Effect.Effect<A> => {
  const turn = Semaphore.makeUnsafe(1)
  let known: { readonly found: A; readonly until: bigint } | undefined
  return turn.withPermit(
    Effect.gen(function* () {
      const now = yield* Clock.monotonicTimeNanos
      if (known !== undefined && now < known.until) return known.found
      const found = yield* look
      known = { found, until: (yield* Clock.monotonicTimeNanos) + keptForNanos }
      return found
    })
  )
}

interface Entry {
  readonly check: ReadinessCheck.ReadinessCheck
  readonly look: Effect.Effect<Seen>
  /** Whether the last look found a trouble that stops payments. */
  readonly isStopping: () => boolean
}

interface Seen extends ReadinessCheck.Finding {
  readonly name: string
}

/** A check whose trouble is told once in the log, and closes the door where it has to. */
const entered = (check: ReadinessCheck.ReadinessCheck, intake: IntakeGate.IntakeGate): Entry => {
  let known: ReadonlyMap<string, ReadinessCheck.Trouble> = new Map()
  const look = Effect.flatMap(ReadinessCheck.looking(check), (finding) =>
    Effect.suspend(() => {
      const before = known
      known = new Map(finding.troubles.map((trouble) => [trouble.kind, trouble]))
      intake.close(check.name, [...known.values()].flatMap(closureOf))
      const seen: Seen = { name: check.name, ...finding }
      return Effect.as(tell(check.name, before, known), seen)
    })
  )
  return { check, look, isStopping: () => [...known.values()].some(({ stops }) => stops !== undefined) }
}

const closureOf = ({ problem, stops }: ReadinessCheck.Trouble): ReadonlyArray<IntakeGate.Closure> => {
  if (stops === undefined) return []
  return [stops === "all" ? { reason: problem } : { reason: problem, network: stops.network }]
}

/** The log has a line when a trouble comes, and one when it goes. */
const tell = (
  name: string,
  before: ReadonlyMap<string, ReadinessCheck.Trouble>,
  after: ReadonlyMap<string, ReadinessCheck.Trouble>
): Effect.Effect<void> => {
  const come = [...after.values()].filter(({ kind }) => !before.has(kind))
  const gone = [...before.values()].filter(({ kind }) => !after.has(kind))
  return Effect.andThen(
    Effect.forEach(come, ({ mend, problem }) => Effect.logError(`not ready (${name}): ${problem}; ${mend}`)),
    Effect.forEach(gone, ({ problem }) => Effect.logInfo(`mended (${name}): no more of "${problem}"`), {
      discard: true
    })
  )
}

/** Looks at what is watched, and at what stops payments; and waits until the next look. */
const watch = (checks: ReadonlyArray<Entry>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const looked = Effect.forEach(
      checks.filter(({ check, isStopping }) => check.watched === true || isStopping()),
      ({ look }) => look,
      { concurrency: "unbounded", discard: true }
    )
    const pause = Effect.suspend(() =>
      Effect.sleep(checks.some(({ isStopping }) => isStopping()) ? stoppedFor : keptFor)
    )
    return Effect.andThen(looked, pause)
  })

const reportOf = (seen: ReadonlyArray<Seen>): typeof ReadinessReport.Type => {
  const records = seen.find(({ name }) => name === ReadinessChecks.recordsName)
  const lanes = seen.find((one) => one.lanes !== undefined)?.lanes
  return {
    ready: seen.every(({ troubles }) => troubles.length === 0),
    store: records?.troubles.length === 0 && lanes !== undefined,
    chains: seen.flatMap(({ chains = [] }) => chains),
    lanes: lanes ?? [],
    checks: seen.map(({ name, troubles }) => ({
      name,
      troubles: troubles.map(({ mend, problem }) => ({ problem, mend }))
    }))
  }
}
