/**
 * Decides a request that carries a payment: which option it pays, whether it was signed for this request, and the
 * facilitator's verdict. The facilitator takes the payment once; claims whose outcome stays unknown are closed here.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { type Claim, NotOnRecord, notOnRecord, type ExecutionEnd, type Settled } from "../facilitator/Facilitator.ts"
import * as FacilitatorClient from "../facilitator/remote/FacilitatorClient.ts"
import * as Entropy from "../platform/Entropy.ts"
import type { Authorization } from "../protocol/Authorization.ts"
import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import * as PaymentId from "../protocol/PaymentId.ts"
import { FacilitatorUnavailable } from "../protocol/ProtocolError.ts"
import { isSettled, type Settlement } from "../protocol/Settlement.ts"
import { isSameAddress } from "../scheme/Scheme.ts"
import type { HeaderFields, PresentedPayment, SignedReceipts } from "../wire/pontage/Dialect.ts"
import * as Refusal from "../wire/pontage/Refusal.ts"
import type { ReceiptSigner } from "../wire/pontage/TypedStatement.ts"
import * as SellerDialects from "../wire/SellerDialects.ts"
import type { SettleAfter, Granted, Refused, Repeated, Uncharged } from "./http/Decision.ts"
import * as GateResponse from "./http/GateResponse.ts"
import * as ClaimedResource from "./offer/ClaimedResource.ts"
import * as OfferMatch from "./offer/OfferMatch.ts"
import * as RouteOffer from "./offer/RouteOffer.ts"
import type { ClaimsInDoubt } from "./request/ClaimsInDoubt.ts"
import * as DrawnResponse from "./request/DrawnResponse.ts"
import * as ExecutionLeases from "./request/ExecutionLeases.ts"
import * as MeteredResponse from "./request/MeteredResponse.ts"
import * as PaymentRefusal from "./request/PaymentRefusal.ts"
import * as ReceiptSigning from "./request/ReceiptSigning.ts"
import * as RefundResponse from "./request/RefundResponse.ts"
import * as ResponseRepeats from "./request/ResponseRepeats.ts"
import * as ShopInspection from "./request/ShopInspection.ts"
import type { PricedRoute } from "./route/PricedRoute.ts"
import * as BuyerPlace from "./shop/BuyerPlace.ts"

/** Services that every payment needs. */
export interface PaidRequestContext extends PaymentRefusal.RefusingShop {
  readonly executions: ExecutionLeases.ExecutionLeases
  readonly doubts: ClaimsInDoubt
  readonly responses: ResponseRepeats.ResponseRepeats
  readonly receipts: ReceiptSigner | undefined
}

/** A request and the payment it carries. */
export interface PaidRequest extends PaymentRefusal.GatedRequest, PresentedPayment {}

/** Takes the payment. Never fails: every failure becomes `Refused` with fresh offers. */
export const take = (
  context: PaidRequestContext,
  request: PaidRequest
): Effect.Effect<Granted | SettleAfter | Refused | Repeated> =>
  forBuyer(
    context,
    request,
    Effect.catch(
      Effect.flatMap(ResponseRepeats.nameOf(context.signer, request), (repeatable) =>
        repeatable === undefined ? accept(context, request) : repeat(context, request, repeatable)
      ),
      (failure) => PaymentRefusal.refused(context, request, failure)
    )
  )

/**
 * Takes a payment of a route whose responses come again. A kept response is given before the payment is verified: its name
 * is the whole payment to the byte, with the part that only its payer knows, and a verification may fail once the money
 * has moved. It is looked up again if the payment is or was used (409): another request of the same payment may have
 * ended meanwhile. A store that cannot be asked keeps no new payment from being served, and makes a used one wait.
 */
const repeat = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  repeatable: ResponseRepeats.RepeatablePayment
): Effect.fn.Return<Granted | SettleAfter | Refused | Repeated, PaymentFailure> {
  const { responses, warn } = context
  const kept = yield* Effect.result(ResponseRepeats.find(responses, repeatable))
  if (Result.isSuccess(kept) && kept.success !== undefined) return { _tag: "Repeated", response: kept.success }
  const own = yield* Effect.result(ResponseRepeats.identify(responses, repeatable))
  if (Result.isSuccess(own) && !own.success)
    return yield* PaymentRefusal.refusalFor(context, request, Refusal.otherPayment)
  const trouble = Result.isFailure(kept) ? kept.failure : Result.isFailure(own) ? own.failure : undefined
  if (trouble !== undefined) yield* warn("responses unavailable", `served responses cannot be kept: ${trouble.message}`)
  const decision = yield* Effect.tapError(accept(context, request, repeatable), (failure) =>
    openAfter(failure) === "nothing" ? ResponseRepeats.unidentify(responses, repeatable) : Effect.void
  )
  if (decision._tag !== "Refused") return decision
  if (decision.response.status === 402) yield* ResponseRepeats.unidentify(responses, repeatable)
  if (decision.response.status !== 409) return decision
  const meanwhile = yield* ResponseRepeats.find(responses, repeatable)
  return meanwhile === undefined ? decision : { _tag: "Repeated", response: meanwhile }
})

const forBuyer = <A, E>(
  { signer }: Pick<PaidRequestContext, "signer">,
  { clientAddress }: PaymentRefusal.GatedRequest,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E> => BuyerPlace.named(signer, clientAddress, effect)

/** A payment matched with an offer, and the signed authorization if the scheme can read it here. */
interface SignedOffer extends OfferMatch.MatchedOffer {
  readonly signed: Authorization | undefined
}

/** The same, and the claim to run the resource that it pays for. */
interface ClaimedOffer extends SignedOffer {
  readonly claim: Claim
}

const accept = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  repeatable?: ResponseRepeats.RepeatablePayment
): Effect.fn.Return<Granted | SettleAfter | Refused, PaymentFailure> {
  const late = request.priced.route.settle === "after-handler"
  const askedAt = yield* Clock.currentTimeMillis
  const { claimed, settled } = yield* taken(context, request, late)
  if (settled.isRefund === true) {
    if (!RefundResponse.isAsked(claimed.payload)) return yield* nonsense("it refunded a payment for a resource")
    return yield* RefundResponse.make(request, settled)
  }
  const refusal =
    (yield* unlessGranted(context, request, claimed, settled)) ??
    (yield* unlessStillHeld(context, request, claimed, askedAt))
  if (refusal !== undefined) return refusal
  const { amount, isDraw = false, paymentId } = settled
  const run = { ...claimed, paymentId, isDraw, amount }
  const begun = yield* ExecutionLeases.start(context.executions, run)
  // Served under an earlier claim whose end is not reported yet: the end of this claim reports it.
  const served = ExecutionLeases.servedBefore(context.executions, run)
  if (served !== undefined) {
    return yield* Effect.andThen(
      begun.end("served", served.charge),
      PaymentRefusal.refusalFor(context, request, Refusal.fromExecution("spent", settled))
    )
  }
  const granted = { ...outcomeOf(request, settled, begun), repeatable, claimed }
  return late ? settleAfter(context, request, claimed, granted) : yield* charged(context, request, granted, settled)
}, Effect.withSpan("PaymentGate.accept"))

/**
 * The execution with its route's rule for a request that the application refuses: it was served if the refusal is the
 * product, and failed if the payer has no further use of the payment, or the facilitator does not name one.
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
  return {
    end: (outcome, charge) => end(meant(outcome), charge),
    finish: (outcome, charge) => finish(meant(outcome), charge)
  }
}

/**
 * Takes the payment for the one offer that it pays. A payment that can only be on record is tried for each candidate
 * until one is on record, and a new one until it agrees with the terms of one. A record that was claimed under another
 * secret of the shop reports the claim as a conflict; the request is repeated under that secret.
 */
const taken = Effect.fnUntraced(function* (context: PaidRequestContext, request: PaidRequest, late: boolean) {
  const { facilitator } = context.executions
  const { candidates, secrets, unlessKnown } = yield* OfferMatch.find(context.signer, request)
  const [likeliest, ...others] = secrets
  const claimUnder = (secret: Uint8Array) => claimFor({ ...context, signer: { ...context.signer, secret } }, request)
  const claim = yield* claimUnder(likeliest)
  const takeUnder = Effect.fnUntraced(function* (candidate: SignedOffer, claim: Claim) {
    const claimed: ClaimedOffer = yield* context.doubts.resuming({
      ...candidate,
      claim: unlessKnown === undefined ? claim : { ...claim, onlyKnown: true }
    })
    const taking = late
      ? facilitator.claim(claimed.request, claimed.claim)
      : facilitator.settle(claimed.request, claimed.claim)
    const settled = yield* taking.pipe(
      Effect.tapError((failure) => leftOpen(context, claimed, failure)),
      Effect.onInterrupt(() => context.doubts.note(claimed))
    )
    if (settled.execution === "granted") yield* context.doubts.forget(claimed)
    return { claimed, settled }
  })
  const takeFor = Effect.fnUntraced(function* (candidate: SignedOffer) {
    let taken = yield* takeUnder(candidate, claim)
    for (const secret of others) {
      if (taken.settled.execution !== "conflict") break
      taken = yield* takeUnder(candidate, yield* claimUnder(secret))
    }
    return taken
  })
  let refusal: PaymentFailure | undefined = unlessKnown
  for (const candidate of candidates) {
    const own = yield* Effect.result(
      Effect.andThen(MeteredResponse.admit(candidate.option, candidate.payload), ShopInspection.inspect(candidate))
    )
    if (Result.isFailure(own)) {
      refusal ??= own.failure
      continue
    }
    const taken = yield* Effect.result(takeFor({ ...candidate, signed: own.success }))
    if (Result.isSuccess(taken)) return taken.success
    const { failure } = taken
    const mayPayAnother = unlessKnown === undefined ? failure._tag === "ValidationError" : isNotOnRecord(failure)
    if (!mayPayAnother) return yield* failure
    refusal ??= failure
  }
  return yield* refusal ?? notOnRecord
})

/**
 * Remembers a claim that may have been granted although no response arrived: nothing runs under it. The buyer is asked
 * to send the same payment again and takes the claim over in this process; for all other processes it is given back.
 */
const leftOpen = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  claimed: ClaimedOffer,
  failure: PaymentFailure
) {
  const open = openAfter(failure)
  if (open === "nothing") return
  yield* context.doubts.note(claimed)
  const { claim, option, signed } = claimed
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

/** Whether the failure says that no record answers for the payment. */
const isNotOnRecord = (failure: PaymentFailure): boolean => failure instanceof NotOnRecord

/**
 * Refuses unless the execution is granted: a facilitator whose response lacks `execution` cannot keep two requests from
 * running on one payment. A grant is compared with the offer here too: whatever a facilitator has on record, the
 * handler runs only for money that came to this payee.
 */
const unlessGranted = (
  context: PaidRequestContext,
  request: PaidRequest,
  claimed: ClaimedOffer,
  settled: Settled
): Effect.Effect<Refused | undefined, FacilitatorUnavailable> => {
  const { execution } = settled
  if (execution === undefined) return nonsense("its response lacks `execution`")
  if (execution !== "granted")
    return PaymentRefusal.refusalFor(context, request, Refusal.fromExecution(execution, settled))
  const difference = differenceOf(claimed, settled)
  return difference === undefined
    ? Effect.undefined
    : Effect.andThen(
        Effect.ignore(context.executions.facilitator.finish(settled.paymentId, claimed.claim.id, "notRun")),
        nonsense(`it granted a payment with another ${difference} than this offer's`)
      )
}

/**
 * Refuses if the execution is not held any more. A process that stood still since it asked, or a response that came late, may
 * find that its lease has lapsed and that another claim runs: a grant is believed for half of a lease after its request, and
 * then confirmed before the handler starts.
 */
const unlessStillHeld = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  claimed: ClaimedOffer,
  askedAt: number
): Effect.fn.Return<Refused | undefined, PaymentFailure> {
  if ((yield* Clock.currentTimeMillis) < askedAt + ExecutionLeases.believedMillis) return undefined
  const confirmed = yield* Effect.tapError(
    context.executions.facilitator.claim(claimed.request, claimed.claim),
    (failure) => leftOpen(context, claimed, failure)
  )
  return yield* unlessGranted(context, request, claimed, confirmed)
})

const nonsense = (why: string) =>
  Effect.fail(new FacilitatorUnavailable({ message: `the facilitator's response is not usable: ${why}` }))

/** The first term in which a granted payment differs from this offer. */
const differenceOf = (
  { option: { asset, onward, schemeServer, network, payTo }, request: { paymentRequirements }, signed }: ClaimedOffer,
  settled: Settled
): "network" | "payee" | "asset" | "amount" | undefined => {
  const { scheme } = schemeServer
  if (scheme.network(settled.network) !== network) return "network"
  if (!isSameAddress(scheme, settled.payTo, payTo)) return "payee"
  if (!isSameAddress(scheme, settled.asset, asset.address)) return "asset"
  const arrival = signed?.arrival
  // Money that goes on is compared where it arrives: a payment that does not show its arrival may arrive anywhere.
  if (arrival === undefined ? onward !== undefined : arrival.amount < arrival.asked) return "amount"
  return BigInt(settled.amount) < BigInt(paymentRequirements.maxAmountRequired) ? "amount" : undefined
}

/** An execution, and the names of its response if that may come again. */
interface GrantedRun extends ExecutionLeases.GrantedExecution {
  readonly repeatable: ResponseRepeats.RepeatablePayment | undefined
  readonly claimed: ClaimedOffer
}

/** The execution is ours. It goes on once the money has moved, and is given back while that is uncertain. */
const charged = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  granted: GrantedRun,
  settled: Settled
): Effect.fn.Return<Granted | Refused> {
  if (!isSettled(settled.status)) {
    return yield* Effect.andThen(
      granted.end("unanswered"),
      PaymentRefusal.refusalFor(context, request, Refusal.fromUnsettled(settled))
    )
  }
  const { challengeId, crossOrigin, isHead, native, priced, dialects } = request
  const now = yield* Clock.currentTimeMillis
  const routeToken = yield* RouteOffer.routeTokenOf(context.signer, priced)
  const settlement = receiptOf(settled, routeToken)
  const { method, route, target } = priced
  const sale = { method, target, payTo: settled.payTo, asset: settled.asset, settlement }
  const receipts = route.receipt === "none" ? {} : yield* ReceiptSigning.sign(context, sale, carriesBrief(dialects))
  const headersWith = (signed: SignedReceipts, receipt = settlement): HeaderFields => ({
    ...SellerDialects.receiptHeaders(dialects, receipt, { now, challengeId, receipts: signed }),
    "Cache-Control": priced.route.cache,
    Vary: priced.route.dialects.paymentHeaders,
    ...(crossOrigin ? GateResponse.exposed(priced.route.dialects) : {})
  })
  const isBought = isBoughtBy(route)
  const headers = headersWith(receipts)
  const grant = { _tag: "Granted", settlement, headers } as const
  if (settled.isDraw === true) {
    const { claimed, finish } = granted
    const { option } = claimed
    const headersOf = (receipt: Settlement) => headersWith(receipt === settlement ? receipts : {}, receipt)
    const below = boughtBelow(route)
    const draw = { route, option, settlement, native, below, finish, headersWith: headersOf, warn: context.warn }
    return { ...grant, ...drawn(context, claimed, draw, settled) }
  }
  return {
    ...grant,
    ...finishing(context, request, granted),
    ...(route.receipt === "response" &&
      !isHead && {
        receipt: (response) =>
          isBought(response.status)
            ? Effect.map(ReceiptSigning.signPurchase(context, sale, response), (purchase) =>
                headersWith(purchase === undefined ? receipts : { ...receipts, purchase })
              )
            : Effect.sync(() => headersWith({}))
      }),
    ...((receipts.purchase ?? receipts.brief) && {
      headersFor: (status) => (isBought(status) ? headers : headersWith({}))
    })
  }
})

/** The parts of a decision on a draw, which is charged by the head of its response or while it is sent. */
const drawn = (
  { entropy, executions }: PaidRequestContext,
  { claim, option: { metered: terms }, payload, request }: ClaimedOffer,
  draw: DrawnResponse.GrantedDraw,
  { paymentId }: Settled
) => {
  if (terms === undefined) return DrawnResponse.make(draw)
  const amount = BigInt(draw.settlement.amount)
  const follows = MeteredResponse.follows(payload)
  return MeteredResponse.make(draw, { executions, entropy, request, claim, paymentId, amount, terms, follows })
}

/** The lowest status of a response that the payment has not bought: the payer may use it again (`refused`), or is owed a response. */
const boughtBelow = ({ refused }: Pick<PricedRoute, "refused">): 400 | 500 => (refused === "charged" ? 500 : 400)

/** Whether the payment has bought a response of this status. */
const isBoughtBy =
  (route: Pick<PricedRoute, "refused">) =>
  (status: number): boolean =>
    status < boughtBelow(route)

const carriesBrief = ({ dialects }: SellerDialects.SellerDialects): boolean =>
  dialects.some(({ carriesBriefReceipts }) => carriesBriefReceipts === true)

/** The end of an execution. The response to a request for its head alone is no response to keep. */
const finishing = (
  { responses, executions: { leases }, warn }: PaidRequestContext,
  { isHead, priced: { route } }: PaidRequest,
  { finish, repeatable: payment }: GrantedRun
): Pick<Granted, "finish" | "sink"> => {
  if (payment === undefined || isHead) return { finish }
  return ResponseRepeats.keeping(responses, { payment, isServed: isBoughtBy(route), finish, leases, warn })
}

const receiptOf = (
  { amount, entitlement, extra, network, payer, paymentId, transaction }: Settled,
  routeToken: string | undefined
): Settlement => ({
  success: true,
  transaction,
  network,
  payer,
  amount,
  paymentId,
  ...(extra && { extra }),
  ...(entitlement !== undefined && routeToken !== undefined && { ifRefused: { routeToken, ...entitlement } })
})

const settleAfter = (
  context: PaidRequestContext,
  request: PaidRequest,
  claimed: ClaimedOffer,
  granted: GrantedRun
): SettleAfter => ({
  _tag: "SettleAfter",
  abandon: granted.finish,
  complete: (status) =>
    isBoughtBy(request.priced.route)(status)
      ? Effect.catch(forBuyer(context, request, settleLate(context, request, claimed, granted)), (failure) =>
          context.doubts
            .note(claimed)
            .pipe(
              Effect.andThen(granted.end("unanswered")),
              Effect.andThen(PaymentRefusal.refused(context, request, failure))
            )
        )
      : Effect.as(granted.end("failed"), uncharged)
})

const uncharged: Uncharged = { _tag: "Uncharged" }

const settleLate = Effect.fnUntraced(function* (
  context: PaidRequestContext,
  request: PaidRequest,
  claimed: ClaimedOffer,
  granted: GrantedRun
): Effect.fn.Return<Granted | Refused, PaymentFailure> {
  const settled = yield* context.executions.facilitator.settle(claimed.request, claimed.claim)
  const refusal = yield* unlessGranted(context, request, claimed, settled)
  if (refusal === undefined) return yield* charged(context, request, granted, settled)
  yield* granted.end("notRun")
  return refusal
}, Effect.withSpan("PaymentGate.complete"))

const claimFor = Effect.fnUntraced(function* ({ entropy, signer }: PaidRequestContext, { priced }: PaidRequest) {
  const resource = yield* ClaimedResource.digest(signer, priced)
  const route = yield* ClaimedResource.routeDigest(signer, priced)
  return {
    id: Entropy.identifier(entropy),
    resource,
    ...(route !== undefined && { route }),
    ...(priced.route.serve === "delivered" && { awaits: "delivered" as const })
  } satisfies Claim
})
