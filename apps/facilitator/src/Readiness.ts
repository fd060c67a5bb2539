/**
 * Whether the service can do its work: the store answers, every chain answers, every signer can pay for gas, and no lane
 * stands still. Each is given two seconds, and the answer is kept for two: asking often asks the chains no more often, and
 * what breaks shows within five.
 */
import { FacilitatorSchemes, PaymentStore, type SchemeFacilitator } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import * as FacilitatorMetrics from "./FacilitatorMetrics.ts"
import * as LaneWatch from "./LaneWatch.ts"

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
      moving: Schema.Boolean
    })
  )
}

/**
 * What was found.
 *
 * @category schemas
 */
export const ReadinessReport = Schema.Struct(report)

/**
 * What was found, where something is missing.
 *
 * @category errors
 */
export class NotReady extends Schema.Error<NotReady>("@pontage/facilitator/NotReady")(report, {
  httpApiStatus: 503,
  description: "The store or a chain cannot be asked, a signer is short of gas money, or a lane stands still"
}) {}

/**
 * What is watched.
 *
 * @category models
 */
export interface Options {
  /** What each signer must hold, by network, in its smallest native unit. */
  readonly minimumGas: (network: string) => bigint
  /** Callers whose gas is shown by itself in the metrics. */
  readonly budgetedCallers: ReadonlyArray<string>
}

/**
 * The service.
 *
 * @category services
 */
export class Readiness extends Context.Service<
  Readiness,
  { readonly report: Effect.Effect<typeof ReadinessReport.Type> }
>()("@pontage/facilitator/Readiness") {
  static readonly layer = ({ budgetedCallers, minimumGas }: Options) =>
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const store = yield* PaymentStore.PaymentStore
        const schemes = yield* FacilitatorSchemes
        const watch = LaneWatch.make(store, schemes, budgetedCallers)
        const check = Effect.all(
          {
            store: checkStore(store),
            lanes: checkLanes(watch),
            chains: Effect.forEach(schemes, (half) => checkChain(half, minimumGas(half.network)), {
              concurrency: "unbounded"
            })
          },
          { concurrency: "unbounded" }
        ).pipe(
          Effect.map(({ chains, lanes, store }) => ({
            ready: store && lanes !== undefined && lanes.every(({ moving }) => moving) && chains.every(isReady),
            store: store && lanes !== undefined,
            chains,
            lanes: lanes ?? []
          })),
          Effect.tap(({ chains }) => FacilitatorMetrics.balances(chains))
        )
        return Readiness.of({ report: yield* Effect.cachedWithTTL(check, keptFor) })
      })
    )
}

const keptFor = "2 seconds"
const patience = "2 seconds"

/** A well-formed name that no payment has: asking for it proves that the store answers. */
const nobody = `pay_${"0".repeat(22)}`

const checkStore = (store: PaymentStore.PaymentStore["Service"]): Effect.Effect<boolean> =>
  store.find(nobody).pipe(
    Effect.timeout(patience),
    Effect.as(true),
    Effect.catch(({ message }) => Effect.as(Effect.logWarning(`the store cannot be asked: ${message}`), false))
  )

const checkLanes = (watch: LaneWatch.LaneWatch): Effect.Effect<ReadonlyArray<LaneWatch.LaneView> | undefined> =>
  watch.look.pipe(
    Effect.timeout(patience),
    Effect.catch(({ message }) => Effect.as(Effect.logWarning(`the lanes cannot be looked at: ${message}`), undefined))
  )

type Chain = (typeof ReadinessReport.Type)["chains"][number]

const isReady = ({ reachable, signers }: Chain) => reachable && signers.every(({ sufficient }) => sufficient)

const checkChain = (half: SchemeFacilitator, minimumGas: bigint): Effect.Effect<Chain> => {
  const place = { scheme: half.scheme.name, network: half.network }
  return half.signers.pipe(
    Effect.timeout(patience),
    Effect.map((signers) => ({
      ...place,
      reachable: true,
      signers: signers.map(({ address, balance }) => ({
        address,
        balance: `${balance}`,
        sufficient: balance >= minimumGas
      }))
    })),
    Effect.catch(({ message }) =>
      Effect.as(Effect.logWarning(`${half.network} cannot be asked: ${message}`), {
        ...place,
        reachable: false,
        signers: []
      })
    )
  )
}
