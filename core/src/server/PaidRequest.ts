/**
 * A request that carries a payment: which option it pays, whether it was signed for this request, and what the
 * facilitator says. The facilitator is asked once; whatever it leaves open is closed here.
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { Claim, PaymentRequest, Settled } from "../facilitator/Facilitator.ts"
import * as Entropy from "../platform/Entropy.ts"
import { type PaymentError, refuse } from "../protocol/PaymentError.ts"
import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import { openPayload, type PaymentPayload, RequestBinding } from "../protocol/PaymentPayload.ts"
import { FacilitatorUnavailable } from "../protocol/ProtocolError.ts"
import { isSettled, type Settlement } from "../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import { protocolDialect } from "../wire/ProtocolDialect.ts"
import * as Refusal from "../wire/Refusal.ts"
import * as Challenge from "./Challenge.ts"
import type { Deferred, Granted, Refused, Uncharged } from "./Decision.ts"
import * as GateAnswer from "./GateAnswer.ts"
import * as PaymentRun from "./PaymentRun.ts"
import * as RouteOffer from "./RouteOffer.ts"

/**
 * What taking a payment needs.
 *
 * @category models
 */
export interface Counter {
  readonly notary: RouteOffer.Notary
  readonly entropy: { readonly bytes: (length: number) => Uint8Array }
  readonly keeper: PaymentRun.Keeper
}

/**
 * A request and the payment it carries.
 *
 * @category models
 */
export interface Presented {
  readonly priced: RouteOffer.PricedRequest
  readonly payment: PaymentPayload
  readonly epoch: number
  /** Whether the request names its `Origin`. */
  readonly crossOrigin: boolean
}

/**
 * Takes the payment. Never fails: what went wrong is `Refused`, with fresh offers.
 *
 * @category combinators
 */
export const take = (counter: Counter, presented: Presented): Effect.Effect<Granted | Deferred | Refused> =>
  Effect.catch(accept(counter, presented), (failure) => refused(counter, presented, failure))

/**
 * The refusal of a presented payment. What is nobody's fault in the payment goes to the operator's log.
 *
 * @category constructors
 */
export const refused = (
  counter: Pick<Counter, "notary">,
  presented: Omit<Presented, "payment">,
  failure: PaymentFailure
): Effect.Effect<Refused> => {
  const answer = answered(counter, presented, Refusal.fromFailure(failure))
  return failure._tag === "PaymentError" || failure._tag === "ValidationError"
    ? answer
    : Effect.andThen(Effect.logWarning(`${presented.priced.route.name}: ${failure._tag}: ${failure.message}`), answer)
}

const answered = (
  { notary }: Pick<Counter, "notary">,
  { crossOrigin, epoch, priced }: Omit<Presented, "payment">,
  refusal: Refusal.Refusal
): Effect.Effect<Refused> =>
  Effect.map(RouteOffer.accepts(notary, priced, epoch), (accepts) => ({
    _tag: "Refused",
    answer: GateAnswer.refused(refusal, accepts, crossOrigin)
  }))

/** A payment that answers an offer, and the wish to run what it pays for. */
interface Order {
  readonly request: PaymentRequest
  readonly claim: Claim
}

const accept = Effect.fn("PaymentGate.accept")(function* (
  counter: Counter,
  presented: Presented
): Effect.fn.Return<Granted | Deferred | Refused, PaymentFailure> {
  const { facilitator } = counter.keeper
  const { onlyKnown, request } = yield* matchOffer(counter, presented)
  const claim = yield* claimFor(counter, presented)
  const order: Order = { request, claim: onlyKnown ? { ...claim, onlyKnown } : claim }
  const late = presented.priced.route.settle === "after-handler"
  const settled = yield* late
    ? facilitator.claim(order.request, order.claim)
    : facilitator.settle(order.request, order.claim)
  const refusal = yield* unlessGranted(counter, presented, settled)
  if (refusal !== undefined) return refusal
  const run = yield* PaymentRun.start(counter.keeper, { ...order, paymentId: settled.paymentId })
  return late ? deferred(counter, presented, order, run) : yield* charged(counter, presented, run, settled)
})

/** A facilitator that leaves a claim unanswered cannot keep two requests from running on one payment. */
const unlessGranted = (
  counter: Counter,
  presented: Presented,
  settled: Settled
): Effect.Effect<Refused | undefined, FacilitatorUnavailable> => {
  const { execution } = settled
  if (execution === "granted") return Effect.undefined
  return execution === undefined
    ? Effect.fail(new FacilitatorUnavailable({ message: "the facilitator settled without looking at the claim" }))
    : answered(counter, presented, Refusal.fromExecution(execution, settled))
}

/** The run is ours. It goes on when the money has moved, and is given back when that is not certain. */
const charged = (
  counter: Counter,
  presented: Presented,
  run: PaymentRun.PaymentRun,
  settled: Settled
): Effect.Effect<Granted | Refused> => {
  if (!isSettled(settled.status)) {
    return Effect.andThen(run.end("notRun"), answered(counter, presented, Refusal.fromUnsettled(settled)))
  }
  const settlement = receiptOf(settled)
  return Effect.succeed({
    _tag: "Granted",
    settlement,
    finish: run.finish,
    headers: {
      ...protocolDialect.receiptHeaders(settlement),
      "Cache-Control": presented.priced.route.cache,
      Vary: "X-Payment",
      ...(presented.crossOrigin ? GateAnswer.exposed : {})
    }
  })
}

const receiptOf = ({ amount, network, payer, paymentId, transaction }: Settled): Settlement => ({
  success: true,
  transaction,
  network,
  payer,
  amount,
  paymentId
})

const deferred = (counter: Counter, presented: Presented, order: Order, run: PaymentRun.PaymentRun): Deferred => ({
  _tag: "Deferred",
  abandon: run.finish,
  complete: (status) =>
    status < 400
      ? Effect.catch(settleLate(counter, presented, order, run), (failure) =>
          Effect.andThen(run.end("notRun"), refused(counter, presented, failure))
        )
      : Effect.as(run.end("failed"), uncharged)
})

const uncharged: Uncharged = { _tag: "Uncharged" }

const settleLate = Effect.fn("PaymentGate.complete")(function* (
  counter: Counter,
  presented: Presented,
  order: Order,
  run: PaymentRun.PaymentRun
): Effect.fn.Return<Granted | Refused, PaymentFailure> {
  const settled = yield* counter.keeper.facilitator.settle(order.request, order.claim)
  const refusal = yield* unlessGranted(counter, presented, settled)
  if (refusal === undefined) return yield* charged(counter, presented, run, settled)
  yield* run.end("notRun")
  return refusal
})

const utf8 = new TextEncoder()

const claimFor = Effect.fnUntraced(function* ({ entropy, notary }: Counter, { priced }: Presented) {
  const { bodyDigest, method, target } = priced
  const parts = [notary.origin, method, target, ...(bodyDigest === undefined ? [] : [bodyDigest])]
  const digest = yield* notary.hash.sha256(utf8.encode(parts.join("\n")))
  return { id: Entropy.identifier(entropy), resource: Base64Url.encode(digest) } satisfies Claim
})

/** A payment's offer. `onlyKnown`: it is bound to none that is made now, and good only if it was taken before. */
interface Matched {
  readonly request: PaymentRequest
  readonly onlyKnown: boolean
}

/**
 * The offer a payment answers, in the words it was signed for. Of several assets on one network, the challenge tells
 * which is meant; without one it is the first. A payment whose price or challenge has passed is shown to the facilitator
 * all the same: its money may have moved before, and then its run is still owed.
 */
const matchOffer = Effect.fnUntraced(function* (
  { notary }: Counter,
  { epoch, payment, priced }: Presented
): Effect.fn.Return<Matched, PaymentFailure> {
  const { first, offers, network } = yield* Effect.fromResult(offersFor(priced, payment))
  const binding = yield* Effect.fromResult(bindingOf(payment))
  const paymentPayload = { ...payment, network }
  const { route } = priced
  const toRequest = (offer: RouteOffer.OfferedOption, challenge: string | undefined, onlyKnown = false): Matched => ({
    onlyKnown,
    request: {
      paymentPayload,
      paymentRequirements: RouteOffer.toRequirements(notary.origin, priced, offer, challenge)
    }
  })
  if (binding === undefined) {
    if (route.binding === "required") return yield* unbound
    return route.binding === "off"
      ? toRequest(first, undefined)
      : toRequest(first, yield* RouteOffer.challengeOf(notary, priced, first, epoch))
  }
  if (route.binding === "off") return yield* notOurs
  for (const offer of offers) {
    for (const then of [epoch, epoch - 1]) {
      const challenge = yield* RouteOffer.challengeOf(notary, priced, offer, then)
      if (Challenge.isSame(challenge, binding.challenge)) return toRequest(offer, challenge)
    }
  }
  return toRequest(first, undefined, true)
})

const unbound = invalid(
  "binding_mismatch",
  "binding_missing",
  "this resource takes only payments that are bound to their request; derive the nonce from extra.challenge"
)

const notOurs = invalid(
  "binding_mismatch",
  "other_request",
  "the payment is bound to another request, another price, or a challenge that is too old; sign for the one offered now"
)

interface Offers {
  readonly first: RouteOffer.OfferedOption
  readonly offers: ReadonlyArray<RouteOffer.OfferedOption>
  readonly network: string
}

const offersFor = (
  priced: RouteOffer.PricedRequest,
  payment: PaymentPayload
): Result.Result<Offers, PaymentError | ValidationError> => {
  const known = RouteOffer.optionsOf(priced).filter(({ option }) => option.scheme === payment.scheme)
  if (known.length === 0) {
    const message = `the scheme ${JSON.stringify(payment.scheme)} is not offered here; choose one of the offers`
    return Result.fail(invalid("unsupported_scheme", "scheme_not_offered", message))
  }
  const offers = known.filter(({ option }) => option.half.scheme.network(payment.network) === option.network)
  const [first] = offers
  if (first === undefined) {
    const networks = [...new Set(known.map(({ option }) => option.network))].join(", ")
    const message = `the payment is for the network ${JSON.stringify(payment.network)}; offered are ${networks}`
    return Result.fail(refuse("NETWORK_MISMATCH", "network_not_offered", message))
  }
  return Result.succeed({ first, offers, network: first.option.network })
}

const decodeBound = Schema.decodeUnknownResult(Schema.Struct({ binding: Schema.optionalKey(RequestBinding) }))

/** Every scheme's payload carries the binding under the same name. */
const bindingOf = (payment: PaymentPayload) =>
  Result.flatMap(openPayload(payment), (json) =>
    Result.mapBoth(decodeBound(json), {
      onSuccess: ({ binding }) => binding,
      onFailure: ({ message }) =>
        invalid("malformed", "payload_fields", `the payment's payload is not usable: ${message}`)
    })
  )
