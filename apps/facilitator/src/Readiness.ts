/**
 * Whether the service can do its work: the store answers, every chain answers, and every signer can pay for gas. The answer
 * is kept for five seconds, so that asking often asks the chains no more often than that.
 */
import { Facilitator, FacilitatorSchemes, type SchemeFacilitator } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import * as FacilitatorMetrics from "./FacilitatorMetrics.ts"

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
  description: "The store or a chain cannot be asked, or a signer is short of gas money"
}) {}

/**
 * The service.
 *
 * @category services
 */
export class Readiness extends Context.Service<
  Readiness,
  { readonly report: Effect.Effect<typeof ReadinessReport.Type> }
>()("@pontage/facilitator/Readiness") {
  /** `minimumGas` is what each signer must hold, in the chain's smallest native unit. */
  static readonly layer = (minimumGas: bigint) =>
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const facilitator = yield* Facilitator
        const schemes = yield* FacilitatorSchemes
        const check = Effect.all(
          {
            store: Effect.match(facilitator.payment(nobody), { onSuccess: () => true, onFailure: () => false }),
            chains: Effect.forEach(schemes, (half) => checkChain(half, minimumGas), { concurrency: "unbounded" })
          },
          { concurrency: "unbounded" }
        ).pipe(
          Effect.map(({ chains, store }) => ({ ready: store && chains.every(isReady), store, chains })),
          Effect.tap(({ chains }) => FacilitatorMetrics.balances(chains))
        )
        return Readiness.of({ report: yield* Effect.cachedWithTTL(check, keptFor) })
      })
    )
}

const keptFor = "5 seconds"
const patience = "5 seconds"

/** A well-formed name that no payment has: asking for it proves that the store answers. */
const nobody = `pay_${"0".repeat(22)}`

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
