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
import type { Deferred, Granted, Refused, Uncharged } from "./http/Decision.ts"
import * as GateAnswer from "./http/GateAnswer.ts"
import * as ClaimedResource from "./offer/ClaimedResource.ts"
import * as OfferMatch from "./offer/OfferMatch.ts"
import * as RouteOffer from "./offer/RouteOffer.ts"
import type { ClaimsInDoubt } from "./request/ClaimsInDoubt.ts"
import * as PaymentRun from "./request/PaymentRun.ts"
import * as ShopInspection from "./request/ShopInspection.ts"
import * as BuyerPlace from "./shop/BuyerPlace.ts"

/** The things that every taking of a payment needs. */
export interface Counter {
  readonly notary: RouteOffer.ChallengeSigner
  readonly entropy: { readonly bytes: (length: number) => Uint8Array }
  readonly keeper: PaymentRun.Keeper
  readonly doubts: ClaimsInDoubt
  readonly warn: RepeatedWarning
}

/** A request, and how it is to be answered. */
export interface Asking {
  readonly priced: RouteOffer.PricedRequest
  readonly epoch: number
  /** Whether the request names its `Origin`. */
  readonly crossOrigin: boolean
  /** The dialects of the answer. */
  readonly spoken: SellerDialects.SellerDialects
  /** Where the request comes from, if the host knows it. */
  readonly clientAddress: string | undefined
}

/** A request and the payment it carries. */
export interface Presented extends Asking, PresentedPayment {}

/** Takes the payment. Never fails: what went wrong is `Refused`, with fresh offers. */
export const take = (counter: Counter, presented: Presented): Effect.Effect<Granted | Deferred | Refused> =>
  forBuyer(
    counter,
    presented,
    Effect.catch(accept(counter, presented), (failure) => refused(counter, presented, failure))
  )

/** Whatever the facilitator is asked meanwhile, it is told for whom. */
const forBuyer = <A, E>(
  { notary }: Pick<Counter, "notary">,
  { clientAddress }: Asking,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.flatMap(BuyerPlace.digest(notary, clientAddress), (buyer) =>
    Effect.provideService(effect, CurrentBuyer, buyer)
  )

/** The refusal of a presented payment. What is nobody's fault in the payment goes to the operator's log. */
export const refused = (
  counter: Pick<Counter, "entropy" | "notary" | "warn">,
  presented: Asking,
  failure: PaymentFailure
): Effect.Effect<Refused> => {
  const answer = answered(counter, presented, Refusal.fromFailure(failure))
  return failure._tag === "PaymentError" || failure._tag === "ValidationError"
    ? answer
    : Effect.andThen(warned(counter, presented, failure), answer)
}

/** A stranger can ask as often as it likes while the facilitator does not answer, or says that it is asked too often. */
const warned = ({ warn }: Pick<Counter, "warn">, { priced: { route } }: Asking, { _tag, message }: PaymentFailure) =>
  warn(`${route.name} ${_tag}`, `${route.name}: ${_tag}: ${message}`)

const answered = (
  { entropy, notary }: Pick<Counter, "entropy" | "notary">,
  { crossOrigin, epoch, priced, spoken }: Asking,
  refusal: Refusal.Refusal
): Effect.Effect<Refused> =>
  Effect.map(RouteOffer.accepts(notary, priced, epoch), (accepts) => ({
    _tag: "Refused",
    answer: GateAnswer.drafted(
      { spoken, order: priced.route.settle, crossOrigin },
      refusal,
      accepts
    )(RetryToken.make(entropy))
  }))

/** A payment that answers an offer, and what was signed, where the scheme tells the shop. */
interface Signed extends OfferMatch.Order {
  readonly signed: Authorization | undefined
}

/** The same, and the wish to run what it pays for. */
interface Order extends Signed {
  readonly claim: Claim
}

const accept = Effect.fnUntraced(function* (
  counter: Counter,
  presented: Presented
): Effect.fn.Return<Granted | Deferred | Refused, PaymentFailure> {
  const late = presented.priced.route.settle === "after-handler"
  const { order, settled } = yield* taken(counter, presented, late)
  const refusal = yield* unlessGranted(counter, presented, order, settled)
  if (refusal !== undefined) return refusal
  const begun = yield* PaymentRun.start(counter.keeper, { ...order, paymentId: settled.paymentId })
  // Served under an earlier claim, whose end could not be told yet: this claim's end tells it.
  if (counter.keeper.untold.has(settled.paymentId)) {
    return yield* Effect.andThen(
      begun.end("served"),
      answered(counter, presented, Refusal.fromExecution("spent", settled))
    )
  }
  const run = outcomeOf(presented, settled, begun)
  return late ? deferred(counter, presented, order, run) : yield* charged(counter, presented, run, settled)
}, Effect.withSpan("PaymentGate.accept"))

/**
 * The run, with what its route makes of a request that the application refuses: where that is the product it was served, and
 * where nothing is left to the payer, or the facilitator does not say so, it has failed.
 */
const outcomeOf = (
  { priced: { route } }: Presented,
  { entitlement }: Settled,
  { end, finish }: PaymentRun.PaymentRun
): PaymentRun.PaymentRun => {
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
const taken = Effect.fnUntraced(function* (counter: Counter, presented: Presented, late: boolean) {
  const { facilitator } = counter.keeper
  const { candidates, secrets, unlessKnown } = yield* OfferMatch.find(counter.notary, presented)
  const [likeliest, ...others] = secrets
  const claimUnder = (secret: Uint8Array) => claimFor({ ...counter, notary: { ...counter.notary, secret } }, presented)
  const claim = yield* claimUnder(likeliest)
  const askFor = Effect.fnUntraced(function* (candidate: Signed, claim: Claim) {
    const order: Order = yield* counter.doubts.resuming({
      ...candidate,
      claim: unlessKnown === undefined ? claim : { ...claim, onlyKnown: true }
    })
    const asked = late ? facilitator.claim(order.request, order.claim) : facilitator.settle(order.request, order.claim)
    const settled = yield* asked.pipe(
      Effect.tapError((failure) => leftOpen(counter, order, failure)),
      Effect.onInterrupt(() => counter.doubts.note(order))
    )
    if (settled.execution === "granted") yield* counter.doubts.forget(order)
    return { order, settled }
  })
  const ask = Effect.fnUntraced(function* (candidate: Signed) {
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
const leftOpen = Effect.fnUntraced(function* (counter: Counter, order: Order, failure: PaymentFailure) {
  const open = openAfter(failure)
  if (open === "nothing") return
  yield* counter.doubts.note(order)
  const { claim, option, signed } = order
  if (open === "little" || signed === undefined) return
  yield* PaymentRun.giveBack(counter.keeper, { claim, paymentId: yield* PaymentId.make(option.network, signed) })
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
  counter: Counter,
  presented: Presented,
  order: Order,
  settled: Settled
): Effect.Effect<Refused | undefined, FacilitatorUnavailable> => {
  const { execution } = settled
  if (execution === undefined) return nonsense("its response lacks `execution`")
  if (execution !== "granted") return answered(counter, presented, Refusal.fromExecution(execution, settled))
  const difference = differenceOf(order, settled)
  return difference === undefined
    ? Effect.undefined
    : Effect.andThen(
        Effect.ignore(counter.keeper.facilitator.finish(settled.paymentId, order.claim.id, "notRun")),
        nonsense(`it granted a payment with another ${difference} than this offer's`)
      )
}

const nonsense = (why: string) =>
  Effect.fail(new FacilitatorUnavailable({ message: `the facilitator's response is not usable: ${why}` }))

/** The first term in which a granted payment is not the one that this offer asks for. */
const differenceOf = (
  { option: { asset, half, network, payTo }, request: { paymentRequirements } }: Order,
  settled: Settled
): "network" | "payee" | "asset" | "amount" | undefined => {
  const { scheme } = half
  if (scheme.network(settled.network) !== network) return "network"
  if (!isSameAddress(scheme, settled.payTo, payTo)) return "payee"
  if (!isSameAddress(scheme, settled.asset, asset.address)) return "asset"
  return BigInt(settled.amount) < BigInt(paymentRequirements.maxAmountRequired) ? "amount" : undefined
}

/** The run is ours. It goes on when the money has moved, and is given back when that is not certain. */
const charged = Effect.fnUntraced(function* (
  counter: Counter,
  presented: Presented,
  run: PaymentRun.PaymentRun,
  settled: Settled
): Effect.fn.Return<Granted | Refused> {
  if (!isSettled(settled.status)) {
    return yield* Effect.andThen(run.end("unanswered"), answered(counter, presented, Refusal.fromUnsettled(settled)))
  }
  const { crossOrigin, priced, spoken } = presented
  const routeToken = yield* RouteOffer.routeTokenOf(counter.notary, priced)
  const settlement = receiptOf(settled, routeToken)
  return {
    _tag: "Granted",
    settlement,
    finish: run.finish,
    headers: {
      ...SellerDialects.receiptHeaders(spoken, settlement),
      "Cache-Control": priced.route.cache,
      Vary: priced.route.speaks.paymentHeaders,
      ...(crossOrigin ? GateAnswer.exposed(priced.route.speaks) : {})
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

const deferred = (counter: Counter, presented: Presented, order: Order, run: PaymentRun.PaymentRun): Deferred => ({
  _tag: "Deferred",
  abandon: run.finish,
  complete: (status) =>
    status < (presented.priced.route.refused === "charged" ? 500 : 400)
      ? Effect.catch(forBuyer(counter, presented, settleLate(counter, presented, order, run)), (failure) =>
          counter.doubts
            .note(order)
            .pipe(Effect.andThen(run.end("unanswered")), Effect.andThen(refused(counter, presented, failure)))
        )
      : Effect.as(run.end("failed"), uncharged)
})

const uncharged: Uncharged = { _tag: "Uncharged" }

const settleLate = Effect.fnUntraced(function* (
  counter: Counter,
  presented: Presented,
  order: Order,
  run: PaymentRun.PaymentRun
): Effect.fn.Return<Granted | Refused, PaymentFailure> {
  const settled = yield* counter.keeper.facilitator.settle(order.request, order.claim)
  const refusal = yield* unlessGranted(counter, presented, order, settled)
  if (refusal === undefined) return yield* charged(counter, presented, run, settled)
  yield* run.end("notRun")
  return refusal
}, Effect.withSpan("PaymentGate.complete"))

const claimFor = Effect.fnUntraced(function* ({ entropy, notary }: Counter, { priced }: Presented) {
  const resource = yield* ClaimedResource.digest(notary, priced)
  const route = yield* ClaimedResource.routeDigest(notary, priced)
  return { id: Entropy.identifier(entropy), resource, ...(route !== undefined && { route }) } satisfies Claim
})
