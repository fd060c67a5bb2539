/**
 * An x402 facilitator over HTTP, as the same service as a Pontage one: it verifies and settles, and keeps neither
 * claims nor records for its callers. They are kept here instead, so that one authorization still buys one execution.
 *
 * It is weaker than a Pontage facilitator: the claims are in the memory of this one process. After a restart a used
 * authorization is refused, and an entitlement to a failed execution is forgotten. Several processes that sell through
 * one such facilitator keep separate claims: only the chain keeps a payment from being settled in two of them, so a
 * payment that is sent to two at once, and whose outcome one of them does not learn, may be served by both. Balances
 * are not reserved, and a transfer is not followed up after its payer has given up.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { FacilitatorUnavailable, Misconfigured } from "../../protocol/ProtocolError.ts"
import { isSettled } from "../../protocol/Settlement.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import { ServerSchemeRegistry } from "../../scheme/ServerSchemeRegistry.ts"
import {
  type Claim,
  Facilitator,
  isArrivingAs,
  notOnRecord,
  type PaymentRequest,
  type Settled
} from "../Facilitator.ts"
import * as OfferCheck from "../OfferCheck.ts"
import * as FacilitatorExchange from "../remote/FacilitatorExchange.ts"
import { toRecord, toSettled } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"
import * as X402FacilitatorExchange from "./X402FacilitatorExchange.ts"
import * as X402FacilitatorKinds from "./X402FacilitatorKinds.ts"
import * as X402FacilitatorLedger from "./X402FacilitatorLedger.ts"
import * as X402FacilitatorPayment from "./X402FacilitatorPayment.ts"
import * as X402FacilitatorSettlements from "./X402FacilitatorSettlements.ts"

/**
 * Address and time limits of the facilitator. The schemes that are sold through it come from the context
 * (`ServerSchemeRegistry`): a scheme that cannot `read` payments cannot be sold through a facilitator that keeps no
 * claims.
 */
export interface Options extends FacilitatorExchange.Options {
  /** Milliseconds for which `settle` waits for the outcome before it fails with `SettlementPending`; default 25 000. */
  readonly settleTimeoutMillis?: number
  /**
   * Maximum number of remembered payments, a tenth of them (or 100) before their money has moved; beyond it the oldest
   * of those is dropped, and if there is none new ones are refused. Default 100 000.
   */
  readonly capacity?: number
}

/** The options, checked. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  ...FacilitatorExchange.keys,
  settleTimeoutMillis: OptionCheck.optional(OptionCheck.whole()),
  capacity: OptionCheck.optional(OptionCheck.whole(1))
})

/**
 * An x402 facilitator as a layer, for a `facilitator` that is known to be one. Its claims live in this process alone:
 * see the description of this module.
 */
export const layer = (options: Options): Layer.Layer<Facilitator, Misconfigured, ServerSchemeRegistry> =>
  Layer.effect(
    Facilitator,
    Effect.gen(function* () {
      const checked = yield* Effect.fromResult(OptionCheck.read(check, options, "facilitator"))
      const exchange = yield* Effect.fromResult(FacilitatorExchange.make(checked))
      return (yield* make(exchange, checked)).service
    })
  )

/** The service, and a function that learns from a response to `GET /supported` that another caller has requested. */
export interface X402FacilitatorService {
  readonly service: Facilitator["Service"]
  readonly learn: (reply: FacilitatorExchange.Reply) => Facilitator["Service"]["supported"]
}

/** Services that every request needs. */
interface X402FacilitatorContext {
  readonly schemes: ReadonlyArray<SchemeServer>
  readonly exchange: X402FacilitatorExchange.X402FacilitatorExchange
  readonly ledger: X402FacilitatorLedger.X402FacilitatorLedger
  readonly settling: X402FacilitatorSettlements.X402FacilitatorSettlements
  /** Payments that are being verified: a copy that arrives meanwhile waits, or is held. */
  readonly arriving: Map<string, Arrival>
}

interface Arrival {
  readonly claimId: string | undefined
  readonly done: Deferred.Deferred<void>
}

/** Makes the service over an exchange, for the schemes of the context. */
export const make = Effect.fnUntraced(function* (
  http: FacilitatorExchange.Exchange,
  { capacity, settleTimeoutMillis = 25_000 }: Pick<Options, "capacity" | "settleTimeoutMillis">
) {
  const { schemes } = yield* ServerSchemeRegistry
  const exchange = X402FacilitatorExchange.make(http)
  const ledger = X402FacilitatorLedger.make(capacity, (paymentId) =>
    X402FacilitatorSettlements.isUnderWay(settling, paymentId)
  )
  const patience = Duration.millis(settleTimeoutMillis)
  const settling = yield* X402FacilitatorSettlements.make({ exchange, ledger, patience })
  const context: X402FacilitatorContext = { schemes, exchange, ledger, settling, arriving: new Map() }
  const sellable = (kinds: X402FacilitatorExchange.Kinds) => X402FacilitatorKinds.sellable(schemes, kinds)
  const service = Facilitator.of({
    verify: (request) => verify(context, request),
    settle: (request, claim) => Effect.andThen(unlessAwaited(claim), settle(context, request, claim)),
    claim: (request, claim) => Effect.andThen(unlessAwaited(claim), claimOnly(context, request, claim)),
    finish: (paymentId, claimId, outcome) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const record = ledger.change(paymentId, (known) => X402FacilitatorLedger.finished(known, claimId, outcome, now))
        return record === undefined ? Effect.fail(unknownPayment(paymentId)) : Effect.succeed(toRecord(record, now))
      }),
    payment: (paymentId) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const record = ledger.find(paymentId)
        return record && toRecord(record, now)
      }),
    supported: Effect.map(exchange.kinds, sellable)
  })
  const learn: X402FacilitatorService["learn"] = (reply) => Effect.map(exchange.learn(reply), sellable)
  return { service, learn } satisfies X402FacilitatorService
})

/** Such a facilitator reports no delivery to another network, so no claim can wait for one. */
const unlessAwaited = (claim: Claim | undefined): Effect.Effect<void, Misconfigured> =>
  claim?.awaits === undefined
    ? Effect.void
    : Effect.fail(
        new Misconfigured({
          message: `serve: "${claim.awaits}" needs a Pontage facilitator; an x402 facilitator reports no deliveries: remove the option`
        })
      )

const unknownPayment = (paymentId: string) =>
  invalid("malformed", "unknown_payment", `no payment ${paymentId.slice(0, 100)} is known here`)

const verify = Effect.fnUntraced(function* (context: X402FacilitatorContext, request: PaymentRequest) {
  const identified = yield* X402FacilitatorPayment.identify(context.schemes, request)
  const known = context.ledger.find(identified.paymentId)
  if (known !== undefined && (known.status !== "accepted" || !Presentation.isOf(identified, known))) {
    return yield* Presentation.used(known)
  }
  yield* verifyAgain(context, identified)
  return { payer: identified.authorization.payer }
})

type IdentifiedPayment = X402FacilitatorPayment.IdentifiedPayment

/** A payment on record, and whether its caller may run the resource. */
interface Taken {
  readonly identified: IdentifiedPayment
  readonly record: X402FacilitatorLedger.X402FacilitatorRecord
  readonly execution: Settled["execution"]
  /** Whether this call made the record. */
  readonly fresh: boolean
  /** Whether this claim held the execution before this call. */
  readonly renewed: boolean
}

/** Compares the payment with the offer, without any request. */
const compare = ({ schemeServer, payment, request }: IdentifiedPayment, now: number) =>
  OfferCheck.check(schemeServer.scheme, request.paymentPayload, payment, Math.floor(now / 1000))

const verifyAgain = Effect.fnUntraced(function* ({ exchange }: X402FacilitatorContext, identified: IdentifiedPayment) {
  yield* Effect.fromResult(compare(identified, yield* Clock.currentTimeMillis))
  yield* exchange.verify(identified.schemeServer.scheme, identified)
})

/**
 * A claim without a transfer. An idle payment is verified again before a handler runs for it; a payment with an earlier
 * settlement request is settled first, or a handler could run repeatedly for a payment that cannot be settled.
 */
const claimOnly = Effect.fnUntraced(function* (
  context: X402FacilitatorContext,
  request: PaymentRequest,
  claim: Claim
): Effect.fn.Return<Settled, PaymentFailure> {
  const identified = yield* X402FacilitatorPayment.identify(context.schemes, request)
  const taken = yield* takeOnce(context, identified, claim, () => takeVerified(context, identified, claim))
  const { execution, fresh, record, renewed } = taken
  const at = yield* Clock.currentTimeMillis
  if (execution !== "granted" || fresh || renewed || isSettled(record.status)) return settledOf(taken, at)
  if (!isIdle(context, record)) return yield* settleTaken(context, taken, claim)
  yield* Effect.onError(verifyAgain(context, identified), () => letGo(context, taken, claim))
  return settledOf(taken, at)
})

/** Whether no settlement request is open; a payment in doubt is `sent`. */
const isIdle = (
  { settling }: X402FacilitatorContext,
  { paymentId, status }: X402FacilitatorLedger.X402FacilitatorRecord
): boolean => status === "accepted" && !X402FacilitatorSettlements.isUnderWay(settling, paymentId)

/**
 * Makes the record of a payment once the facilitator has verified it: a payment that it refuses, or that fails there,
 * is not remembered, and settles nothing that would have to be remembered.
 */
const takeVerified = (
  context: X402FacilitatorContext,
  identified: IdentifiedPayment,
  claim: Claim | undefined
): Effect.Effect<Taken, PaymentFailure> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const done = Deferred.makeUnsafe<void>()
      context.arriving.set(identified.paymentId, { claimId: claim?.id, done })
      return done
    }),
    () =>
      Effect.andThen(
        verifyAgain(context, identified),
        Effect.flatMap(Clock.currentTimeMillis, (now) => taking(context, identified, claim, now))
      ),
    (done) => {
      context.arriving.delete(identified.paymentId)
      return Deferred.succeed(done, undefined)
    }
  )

const settle = Effect.fnUntraced(function* (
  context: X402FacilitatorContext,
  request: PaymentRequest,
  claim: Claim | undefined
): Effect.fn.Return<Settled, PaymentFailure> {
  const identified = yield* X402FacilitatorPayment.identify(context.schemes, request)
  const taken = yield* takeOnce(context, identified, claim, () => takeVerified(context, identified, claim))
  if (claim !== undefined && taken.execution !== "granted") {
    return settledOf(taken, yield* Clock.currentTimeMillis)
  }
  return yield* settleTaken(context, taken, claim)
})

const settleTaken = Effect.fnUntraced(function* (
  context: X402FacilitatorContext,
  taken: Taken,
  claim: Claim | undefined
) {
  yield* Effect.onError(transfer(context, taken), () => letGo(context, taken, claim))
  return yield* confirmed(context, taken, claim, yield* Clock.currentTimeMillis)
})

const transfer = Effect.fnUntraced(function* (context: X402FacilitatorContext, { fresh, identified, record }: Taken) {
  if (isSettled(record.status)) return
  const now = yield* Clock.currentTimeMillis
  if (!fresh && isIdle(context, record)) yield* Effect.fromResult(compare(identified, now))
  yield* X402FacilitatorSettlements.settle(context.settling, identified.schemeServer, record)
})

/** Takes a known payment from its record; copies of a payment that is being verified wait; `first` takes a new one. */
const takeOnce = (
  context: X402FacilitatorContext,
  identified: IdentifiedPayment,
  claim: Claim | undefined,
  first: () => Effect.Effect<Taken, PaymentFailure>
): Effect.Effect<Taken, PaymentFailure> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const { paymentId } = identified
    const known = context.ledger.find(paymentId)
    if (known !== undefined) return Effect.fromResult(takeKnown(context, identified, known, claim, now))
    if (claim?.onlyKnown === true) return Effect.fail(notOnRecord)
    const arrival = context.arriving.get(paymentId)
    if (arrival === undefined) return first()
    if (claim !== undefined && !isArrivingAs(claim, arrival.claimId)) {
      const record = X402FacilitatorLedger.unseen(identified, now)
      return Effect.succeed({ identified, record, execution: "held", fresh: false, renewed: false })
    }
    return Effect.andThen(Deferred.await(arrival.done), takeOnce(context, identified, claim, first))
  })

/** One step: among all copies of a new payment, one makes its record. */
const taking = (
  context: X402FacilitatorContext,
  identified: IdentifiedPayment,
  claim: Claim | undefined,
  now: number
): Effect.Effect<Taken, PaymentFailure> =>
  Effect.suspend(() => {
    const known = context.ledger.find(identified.paymentId)
    if (known !== undefined) return Effect.fromResult(takeKnown(context, identified, known, claim, now))
    const offer = compare(identified, now)
    if (Result.isFailure(offer)) return Effect.fail(offer.failure)
    const record = context.ledger.admit(X402FacilitatorPayment.toNew(identified), claim, now)
    if (record === undefined) return Effect.fail(full)
    const execution = claim && "granted"
    return Effect.succeed({ identified, record, execution, fresh: true, renewed: false })
  })

const full = new FacilitatorUnavailable({
  message: "the ledger is full; raise the capacity, or send the same payment again later"
})

const takeKnown = (
  { ledger }: X402FacilitatorContext,
  identified: IdentifiedPayment,
  known: X402FacilitatorLedger.X402FacilitatorRecord,
  claim: Claim | undefined,
  now: number
): Result.Result<Taken, PaymentFailure> => {
  if (!Presentation.isOf(identified, known)) return Result.fail(Presentation.used(known))
  if (known.refusal !== undefined) return Result.fail(known.refusal)
  if (claim === undefined) {
    return known.execution.resource === undefined && known.answerOwed
      ? Result.succeed({ identified, record: known, execution: undefined, fresh: false, renewed: false })
      : Result.fail(Presentation.used(known))
  }
  const [execution, record] = X402FacilitatorLedger.claimed(known, claim, now)
  ledger.change(known.paymentId, () => record)
  const renewed = known.execution.holder?.claimId === claim.id
  return Result.succeed({ identified, record, execution, fresh: false, renewed })
}

/**
 * Responds after the settlement. A claim that waited may have lost the execution meanwhile: to its lease, or to another
 * call of its own that gave up. Among callers without a claim who wait for an owed response, one gets it.
 */
const confirmed = (
  context: X402FacilitatorContext,
  taken: Taken,
  claim: Claim | undefined,
  now: number
): Effect.Effect<Settled, PaymentFailure> =>
  Effect.suspend(() => {
    const { fresh, identified, record } = taken
    const known = context.ledger.find(record.paymentId)
    if (known === undefined) return Effect.fail(unknownPayment(record.paymentId))
    if (claim !== undefined) {
      const retaken = Effect.fromResult(takeKnown(context, identified, known, claim, now))
      return Effect.map(retaken, (again) => settledOf(again, now))
    }
    if (!fresh && !known.answerOwed) return Effect.fail(Presentation.used(known))
    context.ledger.change(known.paymentId, (one) => ({ ...one, answerOwed: false }))
    return Effect.succeed(settledOf({ ...taken, record: known }, now))
  })

/**
 * Gives up without a response: a claim gives its execution back, a caller without one is owed the response. A record
 * that this call made, and that nothing depends on, is removed.
 */
const letGo = (context: X402FacilitatorContext, { fresh, record: { paymentId } }: Taken, claim: Claim | undefined) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const after = context.ledger.change(paymentId, (record) =>
      claim === undefined
        ? { ...record, answerOwed: record.answerOwed || fresh }
        : X402FacilitatorLedger.finished(record, claim.id, "unanswered", now)
    )
    if (fresh && after !== undefined && after.execution.holder === undefined && isIdle(context, after))
      context.ledger.drop(paymentId)
  })

const settledOf = ({ execution, record }: Taken, now: number): Settled => toSettled(record, execution, now)
