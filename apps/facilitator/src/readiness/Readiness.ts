/**
 * Readiness of the service: every check of `ReadinessChecks` is fine. A report is kept for two seconds and a check takes at
 * most two, so frequent requests cause no more requests to the chains, and a fault shows within five seconds. Checks without a
 * request to a chain run all the time, and so do checks in trouble, so that payments are taken again once it is mended.
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
import * as LaneWatch from "./LaneWatch.ts"
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
  /** Empty while the store does not respond. */
  lanes: Schema.Array(
    Schema.Struct({
      network: Schema.String,
      address: Schema.String,
      waiting: Schema.Int,
      transactions: Schema.Int,
      moving: Schema.Boolean,
      gap: Schema.Int,
      signer: Schema.Boolean
    })
  ),
  /** Present if payments may go on to other networks; pairs of networks without such payments so far are missing. */
  deliveries: Schema.optionalKey(
    Schema.Array(Schema.Struct({ from: Schema.String, to: Schema.String, pending: Schema.Int, stuck: Schema.Int }))
  ),
  /** Every check; `troubles` is empty where the check is fine. */
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      troubles: Schema.Array(Schema.Struct({ kind: Schema.String, problem: Schema.String, mend: Schema.String }))
    })
  )
}

/** The report. */
export const ReadinessReport = Schema.Struct(report)

/** The report of a service that is not ready. */
export class NotReady extends Schema.Error<NotReady>("@pontage/facilitator/NotReady")(report, {
  httpApiStatus: 503,
  description:
    "The service is not ready: each trouble in checks has a kind for programs, a problem and its remedy (mend)"
}) {}

/** Options of the checks. */
export interface Options {
  /** Least balance of each signer, by network, in its smallest native unit. */
  readonly minimumGas: (network: string) => bigint
  /** Callers with a metric of their own gas costs. */
  readonly budgetedCallers: ReadonlyArray<string>
  /** Chains of the settings that the service runs without; default none. */
  readonly missing?: ReadonlyArray<ReadinessChecks.MissingChain>
  /** The facilitator's gate for new payments; it is closed while a trouble stops payments. */
  readonly intake: IntakeGate.IntakeGate
}

/** The service. */
export class Readiness extends Context.Service<
  Readiness,
  { readonly report: Effect.Effect<typeof ReadinessReport.Type> }
>()("@pontage/facilitator/Readiness") {
  static readonly layer = ({ budgetedCallers, intake, minimumGas, missing = [] }: Options) =>
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const store = yield* PaymentStore.PaymentStore
        const { schemes } = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
        const admission = Option.getOrUndefined(yield* Effect.serviceOption(LaneAdmission))
        const lanes = LaneWatch.make(store, schemes, budgetedCallers, admission)
        const checks = ReadinessChecks.all({ store, schemes, lanes, minimumGas, missing }).map((check) =>
          watched(check, intake)
        )
        const look = Effect.forEach(checks, ({ run }) => run, { concurrency: "unbounded" }).pipe(
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
/** Interval of checks while a trouble stops payments. */
const stoppedFor = "500 millis"

/** One report for all requests within two seconds. It ages by the monotonic clock: a clock set back would keep it for longer. */
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

interface WatchedCheck {
  readonly check: ReadinessCheck.ReadinessCheck
  readonly run: Effect.Effect<NamedFinding>
  /** Whether the last run found a trouble that stops payments. */
  readonly isStopping: () => boolean
}

interface NamedFinding extends ReadinessCheck.Finding {
  readonly name: string
}

/** A check whose troubles are logged when they come and go, and close the gate where they stop payments. */
const watched = (check: ReadinessCheck.ReadinessCheck, intake: IntakeGate.IntakeGate): WatchedCheck => {
  let known: Troubles = new Map()
  const run = Effect.flatMap(ReadinessCheck.bounded(check), (finding) =>
    Effect.suspend(() => {
      const before = known
      known = troublesAfter(before, finding)
      const troubles = [...known.values()]
      intake.close(check.name, troubles.flatMap(closureOf))
      const named: NamedFinding = { ...finding, name: check.name, troubles }
      return Effect.as(logChanges(check.name, before, known), named)
    })
  )
  return { check, run, isStopping: () => [...known.values()].some(({ stops }) => stops !== undefined) }
}

type Troubles = ReadonlyMap<string, ReadinessCheck.Trouble>

const keyOf = ({ kind, subject = "" }: ReadinessCheck.Trouble): string => `${kind} ${subject}`

/** Troubles after a run. A run without an answer mends nothing: an earlier trouble that stops payments stays. */
const troublesAfter = (before: Troubles, { isAnswered, troubles }: ReadinessCheck.BoundedFinding): Troubles =>
  new Map([
    ...(isAnswered ? [] : [...before].filter(([, { stops }]) => stops !== undefined)),
    ...troubles.map((trouble) => [keyOf(trouble), trouble] as const)
  ])

const closureOf = ({ problem, stops }: ReadinessCheck.Trouble): ReadonlyArray<IntakeGate.Closure> => {
  if (stops === undefined) return []
  return [stops === "all" ? { reason: problem } : { reason: problem, network: stops.network }]
}

/** Logs each trouble when it comes and when it goes. */
const logChanges = (name: string, before: Troubles, after: Troubles): Effect.Effect<void> => {
  const come = [...after.values()].filter((trouble) => !before.has(keyOf(trouble)))
  const gone = [...before.values()].filter((trouble) => !after.has(keyOf(trouble)))
  return Effect.andThen(
    Effect.forEach(come, ({ mend, problem, tolerated }) =>
      tolerated === true
        ? Effect.logWarning(`${name}: ${problem}; ${mend}`)
        : Effect.logError(`not ready (${name}): ${problem}; ${mend}`)
    ),
    Effect.forEach(gone, ({ problem }) => Effect.logInfo(`mended (${name}): "${problem}" is over`), {
      discard: true
    })
  )
}

/** Runs the watched checks and those that stop payments, and waits until the next round. */
const watch = (checks: ReadonlyArray<WatchedCheck>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const round = Effect.forEach(
      checks.filter(({ check, isStopping }) => check.watched === true || isStopping()),
      ({ run }) => run,
      { concurrency: "unbounded", discard: true }
    )
    const pause = Effect.suspend(() =>
      Effect.sleep(checks.some(({ isStopping }) => isStopping()) ? stoppedFor : keptFor)
    )
    return Effect.andThen(round, pause)
  })

const reportOf = (findings: ReadonlyArray<NamedFinding>): typeof ReadinessReport.Type => {
  const records = findings.find(({ name }) => name === ReadinessChecks.recordsName)
  const lanes = findings.find((one) => one.lanes !== undefined)?.lanes
  const deliveries = findings.find((one) => one.deliveries !== undefined)?.deliveries
  return {
    ready: findings.every(({ troubles }) => troubles.every(({ tolerated }) => tolerated === true)),
    store: records?.troubles.length === 0 && lanes !== undefined,
    chains: findings.flatMap(({ chains = [] }) => chains),
    lanes: lanes ?? [],
    ...(deliveries !== undefined && { deliveries }),
    checks: findings.map(({ name, troubles }) => ({
      name,
      troubles: troubles.map(({ kind, mend, problem }) => ({ kind, problem, mend }))
    }))
  }
}
