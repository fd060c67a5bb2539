/**
 * The facilitator in this process. Its order of work is the order of trust: decode, identify, look into the own records;
 * only a payment that is not known yet is compared with the offer and with the chain, and only then claimed.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import { refuse } from "../protocol/PaymentError.ts"
import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import * as PaymentId from "../protocol/PaymentId.ts"
import { openPayload, protocolVersion } from "../protocol/PaymentPayload.ts"
import {
  type ChainUnavailable,
  FacilitatorUnavailable,
  Misconfigured,
  SettlementPending
} from "../protocol/ProtocolError.ts"
import { isDead, isSettled } from "../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import type { Payment, SchemeFacilitator } from "../scheme/SchemeFacilitator.ts"
import * as SchemeRegistry from "../scheme/SchemeRegistry.ts"
import { CurrentCaller } from "./Caller.ts"
import * as Checkpoint from "./Checkpoint.ts"
import { type Claim, Facilitator, type PaymentRequest, type Settled } from "./Facilitator.ts"
import * as Offer from "./Offer.ts"
import { LaneLeases, layerSole } from "./records/LaneLeases.ts"
import * as MemoryPaymentStore from "./records/MemoryPaymentStore.ts"
import { type NewPayment, PaymentStore, type StoredPayment, toRecord } from "./records/PaymentStore.ts"
import type { GasCeilings } from "./settlement/GasCeilings.ts"
import * as LaneChoice from "./settlement/LaneChoice.ts"
import * as SettlementEngine from "./settlement/SettlementEngine.ts"

/**
 * A scheme's settling half as its constructor gives it: asked to life once, when the facilitator starts.
 *
 * @category models
 */
export type FacilitatorScheme = Effect.Effect<SchemeFacilitator, Misconfigured | ChainUnavailable, Scope.Scope>

/**
 * Options of a facilitator in this process.
 *
 * @category models
 */
export interface Options {
  readonly schemes: ReadonlyArray<FacilitatorScheme>
  /** How long `settle` waits for the chain before it answers `SettlementPending`; milliseconds, default 25 000. */
  readonly settleTimeoutMillis?: number
  /** What settling may cost in any 24 hours; default without limit. Above it nothing new is sent. */
  readonly gasCeilings?: GasCeilings
  /**
   * How long a facilitator that closes waits for settlements under way; milliseconds, default 25 000 in memory, else 0:
   * what is on record goes on after the next start.
   */
  readonly drainMillis?: number
}

/**
 * The settling halves a facilitator runs on, for those who watch over it: chains to ask, signers to fund.
 *
 * @category services
 */
export class FacilitatorSchemes extends Context.Service<FacilitatorSchemes, ReadonlyArray<SchemeFacilitator>>()(
  "@pontage/core/FacilitatorSchemes"
) {}

/**
 * A facilitator over a payment store.
 *
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<Facilitator | FacilitatorSchemes, Misconfigured | ChainUnavailable, PaymentStore | LaneLeases> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const halves = yield* Effect.all(options.schemes, { concurrency: "unbounded" })
      const facilitator = yield* make(halves, options)
      return Context.make(Facilitator, facilitator).pipe(Context.add(FacilitatorSchemes, halves))
    })
  )

/**
 * A facilitator that remembers in memory.
 *
 * @category layers
 */
export const layerMemory = (options: Options) =>
  layer({ drainMillis: 25_000, ...options }).pipe(
    Layer.provide(layerSole),
    Layer.provideMerge(MemoryPaymentStore.layer)
  )

/**
 * Makes a facilitator of settling halves.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  halves: ReadonlyArray<SchemeFacilitator>,
  options: Omit<Options, "schemes"> = {}
) {
  const store = yield* PaymentStore
  const registry = yield* Effect.fromResult(SchemeRegistry.make(halves))
  yield* Effect.fromResult(separateLanes(halves))
  const engine = yield* SettlementEngine.make({
    store,
    leases: yield* LaneLeases,
    halves,
    ceilings: options.gasCeilings ?? {},
    drainMillis: options.drainMillis ?? 0
  })
  const patience = Duration.millis(options.settleTimeoutMillis ?? 25_000)
  const desk: Desk = { store, registry, engine, patience, arriving: new Map() }
  return Facilitator.of({
    verify: (request) => verify(desk, request),
    settle: Effect.fn("Facilitator.settle")((request, claim) => settle(desk, request, claim)),
    claim: Effect.fn("Facilitator.claim")((request, claim) => claimOnly(desk, request, claim)),
    finish: Effect.fnUntraced(function* (paymentId, claimId, outcome) {
      yield* Checkpoint.pass("finishing")
      const stored = yield* store.finish(paymentId, claimId, outcome)
      yield* Checkpoint.pass("finished")
      return stored === undefined ? yield* unknownPayment(paymentId) : yield* recordOf(stored)
    }),
    payment: (paymentId) =>
      Effect.flatMap(store.find(paymentId), (stored) => (stored === undefined ? Effect.undefined : recordOf(stored))),
    supported: Effect.succeed({
      kinds: halves.map(({ extra, network, scheme }) => ({
        protocolVersion,
        scheme: scheme.name,
        network,
        ...(extra !== undefined && { extra })
      })),
      signers: signersOf(halves)
    })
  })
})

/** A signer's transactions are numbered by one worker, so no two schemes can send from it. */
const separateLanes = (halves: ReadonlyArray<SchemeFacilitator>): Result.Result<void, Misconfigured> => {
  const lanes = halves.flatMap((half) => LaneChoice.lanesOf(half))
  const twice = lanes.find((lane, index) => lanes.indexOf(lane) !== index)
  return twice === undefined
    ? Result.void
    : Result.fail(
        new Misconfigured({ message: `schemes: two of them send from the signer ${twice}; give each its own` })
      )
}

const signersOf = (halves: ReadonlyArray<SchemeFacilitator>) => {
  const signers: Record<string, ReadonlyArray<string>> = {}
  for (const { lanes, network } of halves) signers[network] = [...new Set([...(signers[network] ?? []), ...lanes])]
  return signers
}

/** What every request meets. */
interface Desk {
  readonly store: PaymentStore["Service"]
  readonly registry: SchemeRegistry.SchemeRegistry<SchemeFacilitator>
  readonly engine: SettlementEngine.SettlementEngine
  /** How long a caller waits for the chain. */
  readonly patience: Duration.Duration
  /** Payments that are being looked at for the first time: a copy that arrives meanwhile waits here, unverified. */
  readonly arriving: Map<string, Arrival>
}

interface Arrival {
  readonly claimId: string | undefined
  readonly done: Deferred.Deferred<void>
}

/** A payment that was decoded and identified; nothing of it is believed yet. */
interface Presented extends NewPayment {
  readonly half: SchemeFacilitator
  readonly payment: Payment
  readonly request: PaymentRequest
}

/** A payment and its record, and whether this caller may run the resource. */
interface Taken {
  readonly presented: Presented
  readonly stored: StoredPayment
  readonly execution: Settled["execution"]
  /** Whether the payment was examined by this very call. */
  readonly fresh: boolean
  /** Whether this claim held the run before this call. */
  readonly renewed: boolean
}

const decodeJson = Schema.decodeUnknownResult(Schema.Json)

const present = Effect.fnUntraced(function* (desk: Desk, request: PaymentRequest) {
  const { paymentPayload, paymentRequirements } = request
  const half = yield* halfFor(desk, request)
  const json = yield* Effect.fromResult(openPayload(paymentPayload))
  const payload = yield* Effect.mapError(Effect.fromResult(decodeJson(json)), () =>
    invalid("malformed", "payload_json", "the payload is no JSON value")
  )
  const payment = yield* half.read({ ...paymentRequirements, network: half.network }, payload)
  const paymentId = yield* PaymentId.make(half.network, payment.authorization)
  const { authorization, requirements } = payment
  const { name: caller, notify } = yield* CurrentCaller
  return { half, payment, request, paymentId, requirements, authorization, payload, caller, notify } satisfies Presented
})

const halfFor = (desk: Desk, { paymentPayload, paymentRequirements }: PaymentRequest) => {
  const { network, scheme } = paymentRequirements
  if (paymentPayload.scheme !== scheme) {
    const message = `the payment is of the scheme "${paymentPayload.scheme}", the offer of "${scheme}"`
    return Effect.fail(invalid("unsupported_scheme", "other_scheme", message))
  }
  const half = desk.registry.halves.find(
    (one) => one.scheme.name === scheme && one.scheme.network(network) === one.network
  )
  if (half !== undefined) return Effect.succeed(half)
  return desk.registry.halves.some((one) => one.scheme.name === scheme)
    ? Effect.fail(refuse("NETWORK_MISMATCH", "network_not_settled", `payments on ${network} are not settled here`))
    : Effect.fail(invalid("unsupported_scheme", "scheme_not_settled", `the scheme "${scheme}" is not settled here`))
}

/** Everything that must hold of a payment nobody has seen before. Returns when it was seen, in Unix milliseconds. */
const examine = Effect.fnUntraced(function* ({ half, payment, request }: Presented) {
  const now = yield* Clock.currentTimeMillis
  yield* Effect.fromResult(Offer.check(half.scheme, request.paymentPayload, payment, Math.floor(now / 1000)))
  yield* half.verify(payment)
  yield* Checkpoint.pass("examined")
  return now
})

const verify = Effect.fnUntraced(function* (desk: Desk, request: PaymentRequest) {
  const presented = yield* present(desk, request)
  const known = yield* desk.store.find(presented.paymentId)
  if (known !== undefined && known.status !== "accepted") return yield* used(known)
  yield* examine(presented)
  return { payer: presented.authorization.payer }
})

/**
 * Takes a payment in: the record it has, or the one it gets after it was examined. With `wanted` a new one waits for its
 * settlement at once.
 */
const take = Effect.fnUntraced(function* (
  desk: Desk,
  request: PaymentRequest,
  claim: Claim | undefined,
  wanted: boolean
): Effect.fn.Return<Taken, PaymentFailure> {
  const presented = yield* present(desk, request)
  const { paymentId } = presented
  const known = yield* desk.store.find(paymentId)
  if (known !== undefined) return yield* takeKnown(desk, presented, known, claim)
  if (claim?.onlyKnown === true) return yield* notOnRecord
  const arrival = desk.arriving.get(paymentId)
  if (arrival !== undefined && claim !== undefined && arrival.claimId !== claim.id) return heldOnArrival(presented)
  if (arrival !== undefined) {
    yield* Deferred.await(arrival.done)
    return yield* take(desk, request, claim, wanted)
  }
  return yield* Effect.acquireUseRelease(
    Effect.sync(() => {
      const done = Deferred.makeUnsafe<void>()
      desk.arriving.set(paymentId, { claimId: claim?.id, done })
      return done
    }),
    () => takeNew(desk, presented, claim, wanted),
    (done) => {
      desk.arriving.delete(paymentId)
      return Deferred.succeed(done, undefined)
    }
  )
})

const takeNew = Effect.fnUntraced(function* (
  desk: Desk,
  presented: Presented,
  claim: Claim | undefined,
  wanted: boolean
) {
  const at = yield* examine(presented)
  if (!wanted) return yield* reserve(desk, presented, claim, undefined)
  desk.engine.examined(presented, presented.payment, at)
  return yield* reserve(desk, presented, claim, yield* desk.engine.laneFor(presented.half))
})

const notOnRecord = invalid(
  "binding_mismatch",
  "other_request",
  "the payment is bound to another request, another price, or a challenge that is too old; sign for the one offered now"
)

/** Another claim brought the same authorization a moment ago and is being looked at. */
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
    flight: undefined,
    since: undefined,
    refusal: undefined,
    run: { resource: undefined, holder: undefined, served: false, count: 0, releasedAt: undefined },
    answerOwed: false,
    history: []
  }
})

/** How often, and how many times, a balance that other payments hold is looked at again before giving up. */
const reservationPause = Duration.millis(250)
const reservationLooks = 20

const reserve = Effect.fnUntraced(function* (
  desk: Desk,
  presented: Presented,
  claim: Claim | undefined,
  lane: string | undefined
): Effect.fn.Return<Taken, PaymentFailure> {
  let available: bigint | undefined
  for (let looks = 0; looks < reservationLooks; looks++) {
    const claiming = desk.store.claim(newPayment(presented), claim, { available, lane })
    const result = yield* Effect.onError(claiming, () => giveBack(desk, presented.paymentId, claim))
    if (result._tag === "Claimed") {
      yield* Checkpoint.pass("claimed")
      return result.created
        ? { presented, stored: result.payment, execution: result.execution, fresh: true, renewed: false }
        : yield* takeKnown(desk, presented, result.payment, claim)
    }
    if (looks > 0) yield* Effect.sleep(reservationPause)
    available = yield* presented.half.balance(presented.payment)
    if (available < presented.authorization.amount) return yield* insufficient(presented, available)
  }
  return yield* new FacilitatorUnavailable({
    message: `other payments of ${presented.authorization.payer} are on their way and hold its balance; send the same payment again when they have settled`
  })
})

const insufficient = ({ authorization: { amount, payer } }: Presented, available: bigint) =>
  refuse("INSUFFICIENT_BALANCE", "balance_below_amount", `${payer} holds ${available}, the payment is of ${amount}`)

const newPayment = ({ authorization, caller, notify, payload, paymentId, requirements }: Presented): NewPayment => ({
  paymentId,
  requirements,
  authorization,
  payload,
  caller,
  notify
})

/** A known payment answers from its record, to its payer alone: after it was sent, its signature is public on the chain. */
const takeKnown = Effect.fnUntraced(function* (
  desk: Desk,
  presented: Presented,
  known: StoredPayment,
  claim: Claim | undefined
): Effect.fn.Return<Taken, PaymentFailure> {
  if (!isSameTransfer(presented, known) || !isPayers(presented, known)) return yield* used(known)
  if (known.refusal !== undefined) return yield* known.refusal
  if (claim === undefined) return yield* takeUnclaimed(presented, known)
  const { execution, payment } = yield* claimKnown(desk, presented, claim)
  return { presented, stored: payment, execution, fresh: false, renewed: known.run.holder?.claimId === claim.id }
})

const claimKnown = (desk: Desk, presented: Presented, claim: Claim) =>
  Effect.flatMap(desk.store.claim(newPayment(presented), claim), (result) =>
    result._tag === "Claimed" ? Effect.succeed(result) : Effect.die("a store judged a known payment by its balance")
  )

/** An answer that is owed is taken only when it is given: a process may end while its caller waits. */
const takeUnclaimed = (presented: Presented, known: StoredPayment) =>
  known.run.resource === undefined && known.answerOwed
    ? Effect.succeed({ presented, stored: known, execution: undefined, fresh: false, renewed: false })
    : Effect.fail(used(known))

/** A nonce may have been signed for more than once: only what is on record will ever be sent. */
const isSameTransfer = ({ authorization }: Presented, known: StoredPayment): boolean =>
  authorization.payTo === known.authorization.payTo &&
  authorization.amount === known.authorization.amount &&
  authorization.validAfter === known.authorization.validAfter &&
  authorization.validBefore === known.authorization.validBefore

/** The salt of a bound payment never reaches the chain; an unbound one can only be compared as a whole. */
const isPayers = ({ authorization, payload }: Presented, known: StoredPayment): boolean =>
  known.authorization.binding === undefined
    ? JSON.stringify(payload) === JSON.stringify(known.payload)
    : authorization.binding?.salt === known.authorization.binding.salt

const used = (known: StoredPayment): ValidationError =>
  invalid(
    "already_used",
    known.transaction === "" ? known.paymentId : known.transaction,
    `this authorization was used already (${known.paymentId}${known.transaction && `, transaction ${known.transaction}`}); it pays for nothing else`
  )

/** Claims without a transfer. A payment that lay about is examined again before a handler runs for it. */
const claimOnly = Effect.fnUntraced(function* (desk: Desk, request: PaymentRequest, claim: Claim) {
  const taken = yield* take(desk, request, claim, false)
  if (taken.execution === "granted" && !taken.renewed) {
    yield* Effect.onError(examineAgain(desk, taken), () => letGo(desk, taken, claim))
  }
  return answer(taken)
})

const settle = Effect.fnUntraced(function* (desk: Desk, request: PaymentRequest, claim: Claim | undefined) {
  const taken = yield* take(desk, request, claim, true)
  if (claim !== undefined && taken.execution !== "granted") return answer(taken)
  const stored = yield* Effect.onError(transfer(desk, taken), () => letGo(desk, taken, claim))
  const execution = yield* confirmed(desk, taken, claim, stored)
  yield* Checkpoint.pass("told")
  return answer({ ...taken, stored, execution })
})

/** The caller gets no answer now. One who came for an answer that is owed has not taken it. */
const letGo = (desk: Desk, { fresh, stored: { paymentId } }: Taken, claim: Claim | undefined): Effect.Effect<void> =>
  claim === undefined && !fresh ? Effect.void : giveBack(desk, paymentId, claim)

/**
 * A claim gives the run back, a caller without one is owed the answer. Records that cannot be asked let the claim's lease
 * run out.
 */
const giveBack = ({ store }: Desk, paymentId: string, claim: Claim | undefined): Effect.Effect<void> =>
  claim === undefined
    ? Effect.ignore(store.oweAnswer(paymentId, true))
    : Effect.ignore(store.finish(paymentId, claim.id, "notRun"))

/**
 * A claim that waited may have lost the run meanwhile: to its lease, or to a call of its own that gave up. Of callers
 * without a claim who wait for an answer that is owed, one gets it.
 */
const confirmed = Effect.fnUntraced(function* (
  desk: Desk,
  { execution, fresh, presented, stored: before }: Taken,
  claim: Claim | undefined,
  stored: StoredPayment
) {
  if (claim === undefined) {
    const isTheirs = fresh || (yield* desk.store.oweAnswer(stored.paymentId, false))
    return isTheirs ? undefined : yield* used(stored)
  }
  if (stored === before) return execution
  const { holder } = stored.run
  const now = yield* Clock.currentTimeMillis
  if (fresh && holder?.claimId === claim.id && now < holder.until) return execution
  return (yield* claimKnown(desk, presented, claim)).execution
})

/** Moves the money, or waits for a move that is under way. When it fails, the caller has no right to run anything. */
const transfer = Effect.fnUntraced(function* (
  desk: Desk,
  taken: Taken
): Effect.fn.Return<StoredPayment, PaymentFailure> {
  const { presented, stored } = taken
  yield* examineAgain(desk, taken)
  const settling = desk.engine.settle(presented.half, stored)
  const end = yield* Effect.timeoutOption(settling, desk.patience)
  if (Option.isNone(end)) return yield* pending(desk, stored)
  return end.value.refusal === undefined ? end.value : yield* end.value.refusal
})

/**
 * A record that waited is examined anew before anything is sent for it, unless it is on its way all the same. One that was
 * on its way before may have moved its money meanwhile: its lane finds out.
 */
const examineAgain = (desk: Desk, { fresh, presented, stored }: Taken): Effect.Effect<void, PaymentFailure> => {
  if (fresh || stored.status !== "accepted" || stored.lane !== undefined) return Effect.void
  const { paymentId } = stored
  return Effect.matchEffect(examine(presented), {
    onSuccess: (at) => Effect.sync(() => desk.engine.examined(presented, presented.payment, at)),
    onFailure: (error) =>
      Effect.flatMap(desk.store.find(paymentId), (now) =>
        now === undefined || (now.status === "accepted" && now.lane === undefined && now.since === undefined)
          ? Effect.fail(error)
          : Effect.void
      )
  })
}

const pending = Effect.fnUntraced(function* (desk: Desk, { paymentId }: StoredPayment) {
  const now = yield* desk.store.find(paymentId)
  return yield* new SettlementPending({
    paymentId,
    status: now?.status ?? "accepted",
    ...(now !== undefined && now.transaction !== "" && { transaction: now.transaction }),
    message: `the transfer of ${paymentId} is not confirmed yet; send the same payment again, do not sign a new one`
  })
})

const answer = ({ execution, stored }: Taken): Settled => ({
  paymentId: stored.paymentId,
  status: stored.status,
  execution,
  transaction: isSettled(stored.status) || isDead(stored.status) ? stored.transaction : "",
  network: stored.requirements.network,
  payer: stored.authorization.payer,
  amount: `${stored.authorization.amount}`
})

const recordOf = (stored: StoredPayment) => Effect.map(Clock.currentTimeMillis, (now) => toRecord(stored, now))

const unknownPayment = (paymentId: string) =>
  invalid("malformed", "unknown_payment", `no payment ${paymentId} is known here`)
