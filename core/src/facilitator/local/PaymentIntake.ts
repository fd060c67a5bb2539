/**
 * The intake of payments. A known payment answers from its record, to its payer alone. For a new one, one of all its
 * copies is compared with the offer and with the chain, and claimed together with a part of its payer's balance.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type * as BoundedMap from "../../platform/BoundedMap.ts"
import { Entropy, identifier } from "../../platform/Entropy.ts"
import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import * as PaymentId from "../../protocol/PaymentId.ts"
import { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { FacilitatorSchemeRegistry } from "../../scheme/FacilitatorSchemeRegistry.ts"
import type { Stock } from "../../scheme/Onward.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { CurrentCaller } from "../Caller.ts"
import * as Checkpoint from "../Checkpoint.ts"
import { type Claim, isArrivingAs, notOnRecord, type PaymentRequest, type Settled } from "../Facilitator.ts"
import * as PaymentReading from "../lane/PaymentReading.ts"
import type * as SettlementEngine from "../lane/SettlementEngine.ts"
import * as OfferCheck from "../OfferCheck.ts"
import * as BalanceCover from "../queue/BalanceCover.ts"
import * as StockReading from "../queue/StockReading.ts"
import * as Delivery from "../store/Delivery.ts"
import * as Execution from "../store/Execution.ts"
import type { NewPayment, OpenPayments, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"
import type { StockCover, Unstocked } from "../store/Stock.ts"
import type * as ChainClock from "./ChainClock.ts"
import type { IntakeGate } from "./IntakeGate.ts"

/** The dependencies of every request. */
export interface IntakeContext {
  readonly store: PaymentStore["Service"]
  readonly registry: FacilitatorSchemeRegistry["Service"]
  readonly engine: SettlementEngine.SettlementEngine
  /** Fails while this machine's clock and its chain's differ too much. */
  readonly clocks: ChainClock.ChainClock
  readonly intake: IntakeGate
  /** Time that a caller waits for the chain. */
  readonly patience: Duration.Duration
  /** Payments under first verification: a copy that arrives meanwhile waits here, unverified. */
  readonly arriving: Map<string, Arrival>
  /** Calls without a claim that may have taken their payment's answer without delivering it, by payment. */
  readonly undelivered: BoundedMap.BoundedMap<string, string>
}

interface Arrival {
  readonly claimId: string | undefined
  readonly done: Deferred.Deferred<void>
}

/** A decoded and identified payment, not trusted yet. */
export interface Presented extends NewPayment {
  readonly facilitator: SchemeFacilitator
  readonly payment: Payment
  readonly request: PaymentRequest
  /** The reason it would be refused as new; it may be on record from before. */
  readonly refusal: PaymentError | ValidationError | undefined
  /** The operator's stock that it would be delivered from. */
  readonly stock: Stock | undefined
}

/** A payment and its record, and whether this caller may run the resource. */
export interface Taken {
  readonly presented: Presented
  readonly stored: StoredPayment
  readonly execution: Settled["execution"]
  /** Whether this very call verified the payment. */
  readonly fresh: boolean
  /** Whether this claim held the execution before this call. */
  readonly renewed: boolean
}

/** Decodes and identifies a payment, unless the records are in doubt. Queries neither the chain nor the records. */
export const present = Effect.fnUntraced(function* (context: IntakeContext, request: PaymentRequest) {
  yield* context.intake.passAny
  if (Delivery.isPush(request.paymentRequirements)) return yield* ownPush
  const facilitator = yield* facilitatorFor(context, request)
  const { payload, payment: read, refusal } = yield* PaymentReading.readKnown(facilitator, request)
  const { name: caller, notify } = yield* CurrentCaller
  const payment: Payment = { ...read, caller }
  const paymentId = yield* PaymentId.make(facilitator.network, payment.authorization)
  const { authorization } = payment
  const requirements = Presentation.canonical(facilitator.scheme, payment.requirements)
  const destination = facilitator.onward?.destination(payment)
  const stock = facilitator.onward?.stock?.(payment)
  const delivery = destination === undefined ? undefined : Delivery.begin(destination, stock?.draw)
  const terms = { requirements, authorization, payload, caller, notify, ...(delivery && { delivery }) }
  return { facilitator, payment, request, paymentId, refusal, stock, ...terms } satisfies Presented
})

const ownPush = invalid(
  "malformed",
  "extra_delivers",
  "the offer is that of a delivery, which the facilitator makes by itself: its extra.delivers must be absent"
)

const facilitatorFor = (context: IntakeContext, { paymentPayload, paymentRequirements }: PaymentRequest) => {
  const { network, scheme } = paymentRequirements
  if (paymentPayload.scheme !== scheme) {
    const message = `the payment is of the scheme "${paymentPayload.scheme}", the offer of "${scheme}"`
    return Effect.fail(invalid("unsupported_scheme", "other_scheme", message))
  }
  const facilitator = context.registry.schemes.find(
    (one) => one.scheme.name === scheme && one.scheme.network(network) === one.network
  )
  if (facilitator !== undefined) return Effect.succeed(facilitator)
  return context.registry.schemes.some((one) => one.scheme.name === scheme)
    ? Effect.fail(refuse("NETWORK_MISMATCH", "network_not_settled", `payments on ${network} are not settled here`))
    : Effect.fail(invalid("unsupported_scheme", "scheme_not_settled", `the scheme "${scheme}" is not settled here`))
}

/** All checks of a new payment. Returns the time of the check in Unix milliseconds. */
export const verifyPayment = Effect.fnUntraced(function* (
  { clocks }: IntakeContext,
  { facilitator, payment, request }: Presented
) {
  yield* PaymentReading.demandCurrent(payment)
  yield* Effect.fromResult(OfferCheck.checkTerms(facilitator.scheme, request.paymentPayload, payment))
  yield* clocks.demand(facilitator)
  const now = yield* Clock.currentTimeMillis
  yield* Effect.fromResult(OfferCheck.checkTime(payment, Math.floor(now / 1000)))
  yield* facilitator.verify(payment)
  yield* Checkpoint.pass("verified")
  return now
})

/**
 * Takes a payment in: returns its record, or the one made after its verification. With `wanted` a new one is queued for
 * settlement at once.
 */
export const take = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  claim: Claim | undefined,
  wanted: boolean
): Effect.fn.Return<Taken, PaymentFailure> {
  const { paymentId } = presented
  const known = yield* context.store.find(paymentId)
  if (known !== undefined) return yield* takeKnown(context, presented, known, claim)
  if (claim?.onlyKnown === true) return yield* notOnRecord
  if (presented.refusal !== undefined) return yield* presented.refusal
  const arrival = context.arriving.get(paymentId)
  if (arrival !== undefined && claim !== undefined && !isArrivingAs(claim, arrival.claimId)) {
    return heldOnArrival(presented)
  }
  if (arrival !== undefined) {
    yield* Deferred.await(arrival.done)
    return yield* take(context, presented, claim, wanted)
  }
  return yield* Effect.acquireUseRelease(
    Effect.sync(() => {
      const done = Deferred.makeUnsafe<void>()
      context.arriving.set(paymentId, { claimId: claim?.id, done })
      return done
    }),
    () => takeNew(context, presented, claim, wanted),
    (done) => {
      context.arriving.delete(paymentId)
      return Deferred.succeed(done, undefined)
    }
  )
})

const takeNew = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  claim: Claim | undefined,
  wanted: boolean
): Effect.fn.Return<Taken, PaymentFailure> {
  const { facilitator } = presented
  yield* context.intake.passNew(facilitator.network)
  const lane = yield* context.engine.judge(facilitator, presented)
  const beside = yield* context.store.openPayments(presented)
  const verified = yield* Effect.result(verifyPayment(context, presented))
  if (Result.isFailure(verified)) return yield* refusedNew(context, presented, claim, verified.failure)
  const at = verified.success
  if (!wanted) return yield* reserve(context, presented, beside, claim, undefined)
  context.engine.rememberVerified(presented, presented.payment, at)
  yield* context.engine.admit(facilitator, lane, presented)
  return yield* reserve(context, presented, beside, claim, lane)
})

/**
 * The end of an intake whose verification failed. Another process may have taken a copy in meanwhile, and then the transfer that has
 * used the authorization may be the payment's own: its record answers.
 */
const refusedNew = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  claim: Claim | undefined,
  failure: PaymentFailure
): Effect.fn.Return<Taken, PaymentFailure> {
  const known = isUsed(failure) ? yield* context.store.find(presented.paymentId) : undefined
  return known === undefined ? yield* failure : yield* takeKnown(context, presented, known, claim)
})

const isUsed = (failure: PaymentFailure): boolean =>
  failure._tag === "ValidationError" && failure.reason === "already_used"

/** Another claim presented the same authorization a moment ago, and it is being verified. */
const heldOnArrival = (presented: Presented): Taken => ({
  presented,
  execution: "held",
  fresh: false,
  renewed: false,
  stored: {
    ...presented,
    serial: 0n,
    status: "accepted",
    transaction: "",
    block: undefined,
    lane: undefined,
    laneNumber: undefined,
    since: undefined,
    refusal: undefined,
    execution: Execution.make(undefined, 0),
    answerOwed: false,
    history: []
  }
})

const reserve = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  openBefore: OpenPayments,
  claim: Claim | undefined,
  lane: string | undefined
): Effect.fn.Return<Taken, PaymentFailure> {
  const stock = yield* stockCover(context, presented)
  const asked = yield* Effect.result(
    BalanceCover.ask(
      { ...wanted(context, presented), openBefore },
      (cover) =>
        Effect.onError(context.store.claim(newPayment(presented), claim, { ...cover, lane, stock }), () =>
          giveBack(context, presented.paymentId, claim)
        ),
      (available) => judgedAgain(context, presented, available)
    )
  )
  if (Result.isFailure(asked)) return yield* refusedNew(context, presented, claim, asked.failure)
  const result = asked.success
  if (result._tag === "Different") return yield* Presentation.used(result.payment, presented.caller)
  if (result._tag === "Unstocked") return yield* unstocked(presented, result)
  yield* Checkpoint.pass("claimed")
  return result.created
    ? { presented, stored: result.payment, execution: result.execution, fresh: true, renewed: false }
    : yield* takeKnown(context, presented, result.payment, claim)
})

/** The stock that a payment draws on, as of now. */
const stockCover = ({ store }: IntakeContext, { stock }: Presented) =>
  stock === undefined ? Effect.undefined : StockReading.coverOf(store, stock)

/** A refusal, though money may come in later: the payer can pay by another option at once. */
const unstocked = ({ delivery, stock }: Presented, { left, limit }: Unstocked) => {
  const why =
    limit === "day"
      ? `the facilitator's limit for 24 hours of ${stock?.draw.pair} is reached`
      : `the facilitator's own money on ${delivery?.network} is promised to other payments`
  const room = left > 0n ? left : 0n
  const message = `${why}: ${room} are left, the payment needs ${stock?.draw.amount}; nothing was sent, pay by another option`
  return invalid("unsupported_authorization", limit === "day" ? "stock_day_limit" : "stock_promised", message)
}

const wanted = ({ store }: IntakeContext, presented: Presented) => ({
  authorization: presented.authorization,
  open: store.openPayments(presented),
  balance: presented.facilitator.balance(presented.payment)
})

/**
 * A new payment whose payer has too little now, seconds after its verification: a third party that has seen it may have sent it, and
 * its payer would be told to pay again. Its verification decides: it fails for a used authorization. If it passes, nodes differ.
 */
const judgedAgain = Effect.fnUntraced(function* (context: IntakeContext, presented: Presented, available: bigint) {
  const { amount, payer } = presented.authorization
  const message = `${payer} holds ${available}, the payment is of ${amount}`
  yield* Effect.mapError(verifyPayment(context, presented), (failure) =>
    failure._tag === "PaymentError" && failure.code === "INSUFFICIENT_BALANCE"
      ? refuse("INSUFFICIENT_BALANCE", "balance_below_amount", message)
      : failure
  )
})

const newPayment = ({
  authorization,
  caller,
  delivery,
  notify,
  payload,
  paymentId,
  requirements
}: Presented): NewPayment => ({
  ...(delivery !== undefined && { delivery }),
  paymentId,
  requirements,
  authorization,
  payload,
  caller,
  notify
})

/** A known payment answers from its record, for the offer it was taken for and to its payer alone. */
const takeKnown = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  known: StoredPayment,
  claim: Claim | undefined
): Effect.fn.Return<Taken, PaymentFailure> {
  if (!Presentation.isOf(presented, known)) return yield* Presentation.used(known, presented.caller)
  const refusal = yield* provenRefusal(known)
  if (refusal !== undefined) return yield* refusedBefore(context, presented, known, refusal)
  if (claim === undefined) return yield* takeUnclaimed(context, presented, known)
  const { execution, payment } = yield* claimKnown(context, presented, claim)
  return { presented, stored: payment, execution, fresh: false, renewed: known.execution.holder?.claimId === claim.id }
})

/**
 * The refusal of a payment whose record has one. A failure of what was sent here proves nothing about others'
 * transactions: while its authorization is valid, another party may settle a bound payment, and its lane checks it once
 * more after that.
 */
const refusedBefore = Effect.fnUntraced(function* (
  { engine }: IntakeContext,
  { facilitator, payment }: Presented,
  known: StoredPayment,
  refusal: PaymentError | ValidationError
): Effect.fn.Return<never, PaymentFailure> {
  if (known.status !== "failed" || known.authorization.binding === undefined) return yield* refusal
  return (yield* engine.isTransferMade(facilitator, known, payment))
    ? yield* madeAfterAll(facilitator, known)
    : yield* refusal
})

const madeAfterAll = ({ network }: SchemeFacilitator, { paymentId }: StoredPayment) =>
  new ChainUnavailable({
    network,
    message: `${network} shows a transfer of ${paymentId} by another party, after the facilitator's own had failed; it is believed once the validity is over: send the same payment again then, do not sign a new one`
  })

/**
 * Claims a payment on record. The chain is queried later, when it begins to reserve (`verifyPayment`). A third party may
 * have sent it since it was read: then no claim is called spent before that transfer is final.
 */
export const claimKnown = Effect.fnUntraced(function* (context: IntakeContext, presented: Presented, claim: Claim) {
  const ask = (stock?: StockCover) =>
    BalanceCover.ask(wanted(context, presented), (cover) =>
      context.store.claim(newPayment(presented), claim, { ...cover, stock })
    )
  // The stock is read only for a record that begins to draw on it again.
  const first = yield* ask()
  const isUnread = first._tag === "Unstocked" && presented.stock !== undefined
  const result = isUnread ? yield* ask(yield* stockCover(context, presented)) : first
  if (result._tag === "Different") return yield* Presentation.used(result.payment, presented.caller)
  if (result._tag === "Unstocked") return yield* unstocked(presented, result)
  yield* provenRefusal(result.payment)
  return result
})

/** Whether a caller without a claim is owed the answer of a payment on record: no call has taken it yet. */
export const isAnswerOwed = ({ undelivered }: Pick<IntakeContext, "undelivered">, known: StoredPayment): boolean =>
  known.execution.resource === undefined &&
  refusalOf(known) === undefined &&
  (known.answerOwed || undelivered.has(known.paymentId))

/** The refusal of a payment that has an end: an end that a reorganisation took back refuses nothing. */
const refusalOf = ({ refusal, status }: StoredPayment) => (isSettled(status) || isDead(status) ? refusal : undefined)

/**
 * The refusal that a caller may be told, of a payment that has an end. Fails while that end is a third party's transfer which a
 * reorganisation may still take back: its lane would then send the payment again, and a payer that has signed another one meanwhile
 * would pay twice.
 */
export const provenRefusal = (
  known: StoredPayment
): Effect.Effect<PaymentError | ValidationError | undefined, ChainUnavailable> => {
  const refusal = refusalOf(known)
  return refusal !== undefined && known.status === "included" ? Effect.fail(notFinal(known)) : Effect.succeed(refusal)
}

/** The failure of a call for an unbound payment that a third party has sent, while no end may be told. */
export const notFinal = ({ paymentId, requirements: { network } }: StoredPayment) =>
  new ChainUnavailable({
    network,
    message: `a third party has sent the transfer of ${paymentId}, and its block on ${network} is not final yet; send the same payment again later, do not sign a new one`
  })

/**
 * An owed answer is taken only when it is delivered: a process may end while its caller waits. The job of a channel buys nothing, and
 * every call for it is answered.
 */
const takeUnclaimed = (context: IntakeContext, presented: Presented, known: StoredPayment) =>
  presented.facilitator.channels !== undefined || isAnswerOwed(context, known)
    ? Effect.succeed({ presented, stored: known, execution: undefined, fresh: false, renewed: false })
    : Effect.fail(Presentation.used(known))

/** Maximum number of remembered calls that may have taken an answer without delivering it. */
export const ungivenAtMost = 1_000

/**
 * Takes the owed answer for a caller without a claim and returns whether it is this caller's. A call that fails or ends
 * before `tell` restores it; if the records do not say whether it took the answer, its id passes to the next call,
 * which asks in its place.
 */
export const takeAnswer = Effect.fnUntraced(function* (
  { store, undelivered }: IntakeContext,
  paymentId: string,
  tell: Effect.Effect<void>
) {
  const call = undelivered.get(paymentId) ?? identifier(yield* Entropy)
  undelivered.delete(paymentId)
  const taken = Effect.tap(store.takeAnswer(paymentId, call), (isTheirs) => (isTheirs ? tell : Effect.void))
  return yield* Effect.onError(taken, () =>
    Effect.suspend(() => {
      undelivered.set(paymentId, call)
      return Effect.ignore(store.returnAnswer(paymentId, call))
    })
  )
})

/**
 * A claim gives the execution back; a caller without one is still owed the answer. If the records cannot be reached,
 * the claim's lease runs out.
 */
export const giveBack = ({ store }: IntakeContext, paymentId: string, claim: Claim | undefined): Effect.Effect<void> =>
  claim === undefined ? Effect.void : Effect.ignore(store.finish(paymentId, claim.id, "unanswered"))
