/**
 * Served responses that come again (`repeat: "same"`). A response is kept under its payment to the byte and under its
 * request. The payer proves itself by what never reaches the chain: the salt of a bound payment, or the token of the
 * 402 response that an unbound payment repeats. A payment without either is public once it is sent, so its response is
 * not kept.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"

import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import { openPayload } from "../../protocol/PaymentPayload.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import type { PresentedPayment } from "../../wire/pontage/Dialect.ts"
import type { ResponseSink } from "../http/Decision.ts"
import * as KeptResponse from "../http/KeptResponse.ts"
import * as OfferMatch from "../offer/OfferMatch.ts"
import type { ChallengeSigner, PricedRequest } from "../offer/RouteOffer.ts"
import * as KeyedDigest from "../shop/KeyedDigest.ts"
import type { ResponseStore } from "../shop/ResponseStore.ts"

/** The store, and its limits. */
export interface ResponseRepeats {
  readonly store: ResponseStore["Service"]
  /** Limit on the body of a kept response, in bytes. */
  readonly maximumBytes: number
  /** Time for which a response is kept, in milliseconds. */
  readonly ageMillis: number
}

/** A payment of a route whose responses come again. */
export interface RepeatablePayment {
  /** The names of its response, under each of the shop's secrets; new responses get the first. */
  readonly names: readonly [string, ...ReadonlyArray<string>]
  /** The name of the payment's own identifier, if it has one (x402's extension `payment-identifier`). */
  readonly identifier: string | undefined
}

interface Presented extends PresentedPayment {
  readonly priced: PricedRequest
}

/** The names of a payment's response; `undefined` if its route or its form has none. */
export const nameOf = Effect.fnUntraced(function* (
  signer: ChallengeSigner,
  presented: Presented
): Effect.fn.Return<RepeatablePayment | undefined> {
  const { accepted, identifier, payment, priced } = presented
  if (priced.route.repeat !== "same" || !isWhole(priced) || !isProvable(presented)) return undefined
  const nameUnder = (secret: Uint8Array) =>
    KeyedDigest.make({ ...signer, secret }, [
      "kept response",
      signer.origin,
      priced.method,
      priced.target,
      priced.bodyDigest ?? null,
      payment.scheme,
      payment.network,
      payment.payload,
      accepted === undefined ? null : JSON.stringify(accepted)
    ])
  const [first, ...others] = signer.secrets
  return {
    names: [yield* nameUnder(first), ...(yield* Effect.forEach(others, nameUnder))],
    identifier:
      identifier === undefined
        ? undefined
        : yield* KeyedDigest.make({ ...signer, secret: first }, ["payment identifier", signer.origin, identifier])
  }
})

/** Methods whose requests are known by their target alone; the others need their body's digest (`bind: "body"`). */
const withoutBody: ReadonlySet<string> = new Set(["GET", "HEAD"])

/** Whether another body would make another name. */
const isWhole = ({ bodyDigest, method }: PricedRequest): boolean => bodyDigest !== undefined || withoutBody.has(method)

/** Whether only the payer can present the payment once more. */
const isProvable = ({ accepted, payment }: Presented): boolean => {
  const payload = openPayload(payment)
  if (Result.isFailure(payload)) return false
  const binding = OfferMatch.bindingOf(payload.success)
  if (Result.isFailure(binding)) return false
  return binding.success !== undefined || RetryToken.of(accepted?.extra) !== undefined
}

/** The kept response of a payment. */
export const find = Effect.fnUntraced(function* (
  { store }: ResponseRepeats,
  { names }: RepeatablePayment
): Effect.fn.Return<KeptResponse.KeptResponse | undefined, FacilitatorUnavailable> {
  for (const name of names) {
    const text = yield* store.find(name)
    if (text !== undefined) return KeptResponse.decode(text)
  }
  return undefined
})

/**
 * Takes the payment's identifier for this payment; `false` if another payment has taken it. The name is that of the
 * response, so that the identifier stands for one payment to the byte and one request.
 */
export const identify = Effect.fnUntraced(function* (
  { ageMillis, store }: ResponseRepeats,
  { identifier, names: [name] }: RepeatablePayment
): Effect.fn.Return<boolean, FacilitatorUnavailable> {
  if (identifier === undefined) return true
  const until = (yield* Clock.currentTimeMillis) + ageMillis
  return (yield* store.keepFirst(identifier, name, until)) === name
})

/** Gives the identifier of a refused payment back: nothing was bought under it. */
export const unidentify = (
  { store }: ResponseRepeats,
  { identifier, names: [name] }: RepeatablePayment
): Effect.Effect<void> => (identifier === undefined ? Effect.void : Effect.ignore(store.drop(identifier, name)))

/** An execution whose response is to be kept. */
export interface Kept {
  readonly payment: RepeatablePayment
  /** Whether a response of this status is the product, and not a refusal or a failure. */
  readonly isServed: (status: number) => boolean
  readonly finish: (outcome: ExecutionOutcome) => Effect.Effect<void>
  /** The fibers of executions under way, which end with the shop. */
  readonly leases: FiberSet.FiberSet
  readonly warn: RepeatedWarning
}

/** Time that a handler has, after its client has disconnected, to end the response. */
const afterCut = "60 seconds"

/**
 * The end of an execution whose response is kept. A kept response is served, whether or not it arrived: its payer gets it
 * again. An end that is reported while the response is being kept waits for that.
 */
export const keeping = (
  responses: ResponseRepeats,
  { finish: report, isServed, leases, payment, warn }: Kept
): { readonly sink: ResponseSink; readonly finish: Kept["finish"] } => {
  const [name] = payment.names
  const over = Deferred.makeUnsafe<void>()
  const finish = (outcome: ExecutionOutcome) => Effect.andThen(Deferred.succeed(over, undefined), report(outcome))
  let kept: Deferred.Deferred<boolean> | undefined
  const store = Effect.fnUntraced(function* (response: KeptResponse.KeptResponse) {
    const until = (yield* Clock.currentTimeMillis) + responses.ageMillis
    yield* responses.store.keep(name, KeptResponse.encode(response), until)
  })
  const keep = (response: KeptResponse.KeptResponse) =>
    Effect.suspend(() => {
      if (kept !== undefined || response.body.length > responses.maximumBytes || !isServed(response.status))
        return Effect.void
      const done = Deferred.makeUnsafe<boolean>()
      kept = done
      return store(response).pipe(
        Effect.as(true),
        Effect.catch(({ message }) =>
          Effect.as(warn("response not kept", `a served response was not kept: ${message}`), false)
        ),
        Effect.onExit((exit) => Deferred.succeed(done, exit._tag === "Success" && exit.value)),
        Effect.flatMap((isKept) => (isKept ? finish("served") : Effect.void))
      )
    })
  const finishOnceKept = (outcome: ExecutionOutcome) =>
    Effect.suspend(() =>
      kept === undefined
        ? finish(outcome)
        : Effect.flatMap(Deferred.await(kept), (isKept) => finish(isKept ? "served" : outcome))
    )
  const waiting = Effect.andThen(Effect.timeoutOption(Deferred.await(over), afterCut), finishOnceKept("failed"))
  return {
    sink: { maximumBytes: responses.maximumBytes, keep, cut: Effect.asVoid(FiberSet.run(leases, waiting)) },
    finish: finishOnceKept
  }
}
