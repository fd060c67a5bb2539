/**
 * A request that carries a payment: which option it pays, whether it was signed for this request, and what the
 * facilitator says. The facilitator is asked once; whatever it leaves open is closed here.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { CurrentBuyer } from "../facilitator/CurrentBuyer.ts"
import { type Claim, NotOnRecord, notOnRecord, type ExecutionEnd, type Settled } from "../facilitator/Facilitator.ts"
import * as FacilitatorClient from "../facilitator/remote/FacilitatorClient.ts"
import * as Entropy from "../platform/Entropy.ts"
import type { RepeatedWarning } from "../platform/RepeatedWarning.ts"
import type { Authorization } from "../protocol/Authorization.ts"
import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import * as PaymentId from "../protocol/PaymentId.ts"
import { FacilitatorUnavailable } from "../protocol/ProtocolError.ts"
import * as RetryToken from "../protocol/RetryToken.ts"
import { isSettled, type Settlement } from "../protocol/Settlement.ts"
import { isSameAddress } from "../scheme/Scheme.ts"
import type { PresentedPayment } from "../wire/pontage/Dialect.ts"
import * as Refusal from "../wire/pontage/Refusal.ts"
import * as SellerDialects from "../wire/SellerDialects.ts"
import type { SettleAfter, Granted, Refused, Uncharged } from "./http/Decision.ts"
import * as GateAnswer from "./http/GateAnswer.ts"
import * as ClaimedResource from "./offer/ClaimedResource.ts"
import * as OfferMatch from "./offer/OfferMatch.ts"
import * as RouteOffer from "./offer/RouteOffer.ts"
import type { ClaimsInDoubt } from "./request/ClaimsInDoubt.ts"
import * as ExecutionLeases from "./request/ExecutionLeases.ts"
import * as ShopInspection from "./request/ShopInspection.ts"
import * as BuyerPlace from "./shop/BuyerPlace.ts"

/** The things that every taking of a payment needs. */
export interface PaidRequestContext {
  readonly signer: RouteOffer.ChallengeSigner
  readonly entropy: { readonly bytes: (length: number) => Uint8Array }
  readonly executions: ExecutionLeases.ExecutionLeases
  readonly doubts: ClaimsInDoubt
  readonly warn: RepeatedWarning
}

/** A request, and how it is to be answered. */
export interface GatedRequest {
  readonly priced: RouteOffer.PricedRequest
  readonly epoch: number
  /** Whether the request names its `Origin`. */
  readonly crossOrigin: boolean
  /** The dialects of the answer. */
  readonly dialects: SellerDialects.SellerDialects
  /** Where the request comes from, if the host knows it. */
  readonly clientAddress: string | undefined
}

/** A request and the payment it carries. */
export interface PaidRequest extends GatedRequest, PresentedPayment {}

/** Takes the payment. Never fails: what went wrong is `Refused`, with fresh offers. */
export const take = (
  context: PaidRequestContext,
  request: PaidRequest
): Effect.Effect<Granted | SettleAfter | Refused> =>
  forBuyer(
    context,
    request,
    Effect.catch(accept(context, request), (failure) => refused(context, request, failure))
  )

/** Whatever the facilitator is asked meanwhile, it is told for whom. */
const forBuyer = <A, E>(
  { signer }: Pick<PaidRequestContext, "signer">,
  { clientAddress }: GatedRequest,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.flatMap(BuyerPlace.digest(signer, clientAddress), (buyer) =>
    Effect.provideService(effect, CurrentBuyer, buyer)
  )

/** The refusal of a presented payment. What is nobody's fault in the payment goes to the operator's log. */
export const refused = (
  context: Pick<PaidRequestContext, "entropy" | "signer" | "warn">,
  request: GatedRequest,
  failure: PaymentFailure
): Effect.Effect<Refused> => {
  const answer = answered(context, request, Refusal.fromFailure(failure))
  return failure._tag === "PaymentError" || failure._tag === "ValidationError"
    ? answer
    : Effect.andThen(warned(context, request, failure), answer)
}

/** A stranger can ask as often as it likes while the facilitator does not answer, or says that it is asked too often. */
const warned = (
  { warn }: Pick<PaidRequestContext, "warn">,
  { priced: { route } }: GatedRequest,
  { _tag, message }: PaymentFailure
) => warn(`${route.name} ${_tag}`, `${route.name}: ${_tag}: ${message}`)

const answered = (
  { entropy, signer }: Pick<PaidRequestContext, "entropy" | "signer">,
  { crossOrigin, epoch, priced, dialects }: GatedRequest,
  refusal: Refusal.Refusal
): Effect.Effect<Refused> =>
  Effect.map(RouteOffer.accepts(signer, priced, epoch), (accepts) => ({
    _tag: "Refused",
    answer: GateAnswer.drafted(
      { dialects, order: priced.route.settle, crossOrigin },
      refusal,
      accepts
    )(RetryToken.make(entropy))
  }))

/** A payment that answers an offer, and what was signed, where the scheme tells the shop. */
interface SignedOffer extends OfferMatch.MatchedOffer {
  readonly signed: Authorization | undefined
}

/** The same, and the wish to run what it pays for. */
interface ClaimedOffer extends SignedOffer {
  readonly claim: Claim
}

const accept = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest
): Effect.fn.Return<Granted | SettleAfter | Refused, PaymentFailure> {
  const late = request.priced.route.settle === "after-handler"
  const { order, settled } = yield* taken(context, request, late)
  const refusal = yield* unlessGranted(context, request, order, settled)
  if (refusal !== undefined) return refusal
  const begun = yield* ExecutionLeases.start(context.executions, { ...order, paymentId: settled.paymentId })
  // Served under an earlier claim, whose end could not be told yet: this claim's end tells it.
  if (context.executions.unreported.has(settled.paymentId)) {
    return yield* Effect.andThen(
      begun.end("served"),
      answered(context, request, Refusal.fromExecution("spent", settled))
    )
  }
  const run = outcomeOf(request, settled, begun)
  return late ? settleAfter(context, request, order, run) : yield* charged(context, request, run, settled)
}, Effect.withSpan("PaymentGate.accept"))

/**
 * The run, with what its route makes of a request that the application refuses: where that is the product it was served, and
 * where nothing is left to the payer, or the facilitator does not say so, it has failed.
 */
const outcomeOf = (
  { priced: { route } }: PaidRequest,
  { entitlement }: Settled,
  { end, finish }: ExecutionLeases.GrantedExecution
): ExecutionLeases.GrantedExecution => {
  const refusal = entitlement === undefined ? "failed" : "refused"
  const meant = (outcome: ExecutionEnd): ExecutionEnd => {
    if (outcome !== "refused") return outcome
    return route.refused === "charged" ? "served" : refusal
  }
  return { end: (outcome) => end(meant(outcome)), finish: (outcome) => finish(meant(outcome)) }
}

/**
 * Asks the facilitator for the one offer that is paid; of a payment from a record, for each until one is on record. A record
 * that was claimed under another secret of the shop calls the claim a conflict, and is asked for under that one too.
 */
const taken = Effect.fnUntraced(function* (context: PaidRequestContext, request: PaidRequest, late: boolean) {
  const { facilitator } = context.executions
  const { candidates, secrets, unlessKnown } = yield* OfferMatch.find(context.signer, request)
  const [likeliest, ...others] = secrets
  const claimUnder = (secret: Uint8Array) => claimFor({ ...context, signer: { ...context.signer, secret } }, request)
  const claim = yield* claimUnder(likeliest)
  const askFor = Effect.fnUntraced(function* (candidate: SignedOffer, claim: Claim) {
    const order: ClaimedOffer = yield* context.doubts.resuming({
      ...candidate,
      claim: unlessKnown === undefined ? claim : { ...claim, onlyKnown: true }
    })
    const asked = late ? facilitator.claim(order.request, order.claim) : facilitator.settle(order.request, order.claim)
    const settled = yield* asked.pipe(
      Effect.tapError((failure) => leftOpen(context, order, failure)),
      Effect.onInterrupt(() => context.doubts.note(order))
    )
    if (settled.execution === "granted") yield* context.doubts.forget(order)
    return { order, settled }
  })
  const ask = Effect.fnUntraced(function* (candidate: SignedOffer) {
    let answer = yield* askFor(candidate, claim)
    for (const secret of others) {
      if (answer.settled.execution !== "conflict") break
      answer = yield* askFor(candidate, yield* claimUnder(secret))
    }
    return answer
  })
  for (const candidate of candidates) {
    const own = yield* Effect.result(ShopInspection.inspect(candidate))
    if (Result.isFailure(own) && unlessKnown === undefined) return yield* own.failure
    if (Result.isFailure(own)) continue
    const answer = yield* Effect.result(ask({ ...candidate, signed: own.success }))
    if (Result.isSuccess(answer)) return answer.success
    if (unlessKnown === undefined || !isNotOnRecord(answer.failure)) return yield* answer.failure
  }
  return yield* unlessKnown ?? notOnRecord
})

/**
 * Remembers a claim that may have been granted without our hearing of it: nothing runs under it. The buyer is told to come
 * again with the same payment, and takes it over at this process; for all others it is given back.
 */
const leftOpen = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  order: ClaimedOffer,
  failure: PaymentFailure
) {
  const open = openAfter(failure)
  if (open === "nothing") return
  yield* context.doubts.note(order)
  const { claim, option, signed } = order
  if (open === "little" || signed === undefined) return
  yield* ExecutionLeases.giveBack(context.executions, {
    claim,
    paymentId: yield* PaymentId.make(option.network, signed)
  })
})

const openAfter = (failure: PaymentFailure): ReturnType<typeof FacilitatorClient.leavesOpen> => {
  switch (failure._tag) {
    case "PaymentError":
    case "ValidationError":
    case "Misconfigured":
      return "nothing"
    case "SettlementPending":
    case "ChainUnavailable":
      return "little"
    case "FacilitatorUnavailable":
      return FacilitatorClient.leavesOpen(failure)
  }
}

/** Whether a facilitator says that no record answers for a payment that only a record could have answered for. */
const isNotOnRecord = (failure: PaymentFailure): boolean => failure instanceof NotOnRecord

/**
 * A facilitator that leaves a claim unanswered cannot keep two requests from running on one payment. A grant is compared with
 * the offer here too: whatever a facilitator has on record, the handler runs only for money that came to this payee.
 */
const unlessGranted = (
  context: PaidRequestContext,
  request: PaidRequest,
  order: ClaimedOffer,
  settled: Settled
): Effect.Effect<Refused | undefined, FacilitatorUnavailable> => {
  const { execution } = settled
  if (execution === undefined) return nonsense("its response lacks `execution`")
  if (execution !== "granted") return answered(context, request, Refusal.fromExecution(execution, settled))
  const difference = differenceOf(order, settled)
  return difference === undefined
    ? Effect.undefined
    : Effect.andThen(
        Effect.ignore(context.executions.facilitator.finish(settled.paymentId, order.claim.id, "notRun")),
        nonsense(`it granted a payment with another ${difference} than this offer's`)
      )
}

const nonsense = (why: string) =>
  Effect.fail(new FacilitatorUnavailable({ message: `the facilitator's response is not usable: ${why}` }))

/** The first term in which a granted payment is not the one that this offer asks for. */
const differenceOf = (
  { option: { asset, schemeServer, network, payTo }, request: { paymentRequirements } }: ClaimedOffer,
  settled: Settled
): "network" | "payee" | "asset" | "amount" | undefined => {
  const { scheme } = schemeServer
  if (scheme.network(settled.network) !== network) return "network"
  if (!isSameAddress(scheme, settled.payTo, payTo)) return "payee"
  if (!isSameAddress(scheme, settled.asset, asset.address)) return "asset"
  return BigInt(settled.amount) < BigInt(paymentRequirements.maxAmountRequired) ? "amount" : undefined
}

/** The run is ours. It goes on when the money has moved, and is given back when that is not certain. */
const charged = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  run: ExecutionLeases.GrantedExecution,
  settled: Settled
): Effect.fn.Return<Granted | Refused> {
  if (!isSettled(settled.status)) {
    return yield* Effect.andThen(run.end("unanswered"), answered(context, request, Refusal.fromUnsettled(settled)))
  }
  const { crossOrigin, priced, dialects } = request
  const routeToken = yield* RouteOffer.routeTokenOf(context.signer, priced)
  const settlement = receiptOf(settled, routeToken)
  return {
    _tag: "Granted",
    settlement,
    finish: run.finish,
    headers: {
      ...SellerDialects.receiptHeaders(dialects, settlement),
      "Cache-Control": priced.route.cache,
      Vary: priced.route.dialects.paymentHeaders,
      ...(crossOrigin ? GateAnswer.exposed(priced.route.dialects) : {})
    }
  }
})

const receiptOf = (
  { amount, entitlement, network, payer, paymentId, transaction }: Settled,
  routeToken: string | undefined
): Settlement => ({
  success: true,
  transaction,
  network,
  payer,
  amount,
  paymentId,
  ...(entitlement !== undefined && routeToken !== undefined && { ifRefused: { routeToken, ...entitlement } })
})

const settleAfter = (
  context: PaidRequestContext,
  request: PaidRequest,
  order: ClaimedOffer,
  run: ExecutionLeases.GrantedExecution
): SettleAfter => ({
  _tag: "SettleAfter",
  abandon: run.finish,
  complete: (status) =>
    status < (request.priced.route.refused === "charged" ? 500 : 400)
      ? Effect.catch(forBuyer(context, request, settleLate(context, request, order, run)), (failure) =>
          context.doubts
            .note(order)
            .pipe(Effect.andThen(run.end("unanswered")), Effect.andThen(refused(context, request, failure)))
        )
      : Effect.as(run.end("failed"), uncharged)
})

const uncharged: Uncharged = { _tag: "Uncharged" }

const settleLate = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  order: ClaimedOffer,
  run: ExecutionLeases.GrantedExecution
): Effect.fn.Return<Granted | Refused, PaymentFailure> {
  const settled = yield* context.executions.facilitator.settle(order.request, order.claim)
  const refusal = yield* unlessGranted(context, request, order, settled)
  if (refusal === undefined) return yield* charged(context, request, run, settled)
  yield* run.end("notRun")
  return refusal
}, Effect.withSpan("PaymentGate.complete"))

const claimFor = Effect.fnUntraced(function* ({ entropy, signer }: PaidRequestContext, { priced }: PaidRequest) {
  const resource = yield* ClaimedResource.digest(signer, priced)
  const route = yield* ClaimedResource.routeDigest(signer, priced)
  return { id: Entropy.identifier(entropy), resource, ...(route !== undefined && { route }) } satisfies Claim
})
