/**
 * The tools of the scheme laws: a scheme on a chain, payments signed for its offer, a new facilitator, and a measure of
 * the moved money.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"
import * as Layer from "effect/Layer"

import type { Claim, PaymentRequest } from "../../facilitator/Facilitator.ts"
import * as LocalFacilitator from "../../facilitator/local/LocalFacilitator.ts"
import { layerSole } from "../../facilitator/store/LaneLeases.ts"
import * as MemoryPaymentStore from "../../facilitator/store/MemoryPaymentStore.ts"
import { Entropy, identifier } from "../../platform/Entropy.ts"
import * as Binding from "../../protocol/Binding.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as FacilitatorSchemeRegistry from "../../scheme/FacilitatorSchemeRegistry.ts"
import type { SchemeClient } from "../../scheme/SchemeClient.ts"
import type {
  Conclusion,
  Payment,
  Preparation,
  PreparedTransaction,
  SchemeFacilitator,
  TransactionObservation,
  ChainHead
} from "../../scheme/SchemeFacilitator.ts"
import { holds, type Law, LawBroken, same, succeeds } from "../Law.ts"

/** The scheme under test, on a chain. */
export interface SchemeSubject {
  /** Owns at least two hundred times the amount. */
  readonly payer: SchemeClient
  /** Owns nothing of the asset. */
  readonly poor: SchemeClient
  readonly facilitator: SchemeFacilitator
  /** Another facilitator of the same chain, with its own signers: a third party that submits a signed payment. */
  readonly stranger: SchemeFacilitator
  /** The offer, everything in its canonical form. */
  readonly requirements: PaymentRequirements & { readonly asset: string }
  /** An address of the family that is not the offer's. */
  readonly otherPayTo: string
  /** An address of the family where the asset is not. */
  readonly otherAsset: string
  /** Another network of the family. */
  readonly otherNetwork: string
  /** The recipient's balance, read from the chain and not through the scheme. */
  readonly received: Effect.Effect<bigint>
  /**
   * The transactions that have credited the recipient, read from the chain: for a family whose money moves by further
   * messages. There a payment is named by one of them, elsewhere by the submitted transaction.
   */
  readonly credits?: Effect.Effect<ReadonlyArray<string>>
  /** Runs an effect while `facilitator` cannot reach the chain. */
  readonly whileDown: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /**
   * Advances the chain's final block to this time (Unix seconds, a few from now): by waiting and mining, or by moving
   * the chain's clock if nothing else depends on it.
   */
  readonly finalise: (time: number) => Effect.Effect<void>
}

/** The scheme that the laws are tried on. */
export class Subject extends Context.Service<Subject, SchemeSubject>()("@pontage/core/testing/SchemeSubject") {}

/** A law of a scheme. */
export const law = (name: string, body: (subject: SchemeSubject) => Effect.Effect<void, LawBroken>): Law<Subject> => ({
  name,
  effect: Effect.flatMap(Subject, body)
})

/** Validity of a payment of the laws, in seconds. */
export const validSeconds = 60

/** The differences of a payment from the valid one. */
export interface Wish {
  readonly client?: SchemeClient
  readonly bound?: boolean
  /** Seconds from now. */
  readonly validFor?: number
  /** Seconds from now; without it, valid from the beginning. */
  readonly validIn?: number
}

const nowSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

/** Signs a payment for the offer; returns the request to the scheme client beside it. */
export const sign = Effect.fnUntraced(function* (subject: SchemeSubject, wish: Wish = {}) {
  const { client = subject.payer, validFor = validSeconds, validIn } = wish
  const asset = client.asset(subject.requirements)
  if (asset === undefined) return yield* new LawBroken({ message: "the payer does not know the offer's asset" })
  const now = yield* nowSeconds
  const request = {
    requirements: subject.requirements,
    asset,
    validAfter: validIn === undefined ? 0 : now + validIn,
    validBefore: now + validFor,
    binding: wish.bound === true ? yield* Binding.make("challenge-of-the-laws") : undefined
  }
  return { request, signed: yield* succeeds("signing", client.sign(request)) }
})

/** A payload in the form that a facilitator receives. */
export const requestOf = ({ requirements }: SchemeSubject, payload: unknown): PaymentRequest => ({
  paymentPayload: sealPayload(requirements.scheme, requirements.network, payload),
  paymentRequirements: requirements
})

/** Signs a payment and makes a request of it. */
export const pay = Effect.fnUntraced(function* (subject: SchemeSubject, wish?: Wish) {
  return requestOf(subject, (yield* sign(subject, wish)).signed.payload)
})

/** A facilitator under test. */
export type Service = Effect.Success<ReturnType<typeof LocalFacilitator.make>>

/** Runs with a new facilitator without records. */
export const withFacilitator = <A>(
  { facilitator }: SchemeSubject,
  use: (service: Service) => Effect.Effect<A, LawBroken>
): Effect.Effect<A, LawBroken> =>
  Effect.scoped(
    Effect.provide(
      Effect.flatMap(succeeds("starting a facilitator", LocalFacilitator.make({})), use),
      Layer.mergeAll(
        MemoryPaymentStore.layer,
        layerSole,
        Layer.orDie(FacilitatorSchemeRegistry.layer([Effect.succeed(facilitator)]))
      )
    )
  )

/** A new claim. */
export const newClaim: Effect.Effect<Claim> = Effect.map(Entropy, (entropy) => ({
  id: identifier(entropy),
  resource: "the-resource-of-the-laws"
}))

/** Settles under a new claim. */
export const settle = (service: Service, request: PaymentRequest) =>
  Effect.flatMap(newClaim, (claim) => service.settle(request, claim))

/** Runs an effect and compares the recipient's gain with the expected one. */
export const gaining = Effect.fnUntraced(function* <A>(
  { received, requirements }: SchemeSubject,
  payments: bigint,
  body: Effect.Effect<A, LawBroken>
) {
  const before = yield* received
  const result = yield* body
  yield* same("the recipient's gain", (yield* received) - before, payments * BigInt(requirements.maxAmountRequired))
  return result
})

const wordOf = (failure: PaymentFailure): string => {
  if (failure._tag === "PaymentError") return failure.code
  return failure._tag === "ValidationError" ? failure.reason : failure._tag
}

/** Holds if the effect fails with one of these reasons. */
export const refuses = <A>(what: string, words: ReadonlyArray<string>, effect: Effect.Effect<A, PaymentFailure>) =>
  Effect.flatMap(
    succeeds(`${what} must be refused (${words.join(" or ")})`, Effect.flip(effect)),
    (failure): Effect.Effect<void, LawBroken> =>
      holds(
        `${what} is ${words.join(" or ")}, not ${wordOf(failure)}: ${failure.message}`,
        words.includes(wordOf(failure))
      )
  )

/** A new facilitator refuses the request with one of these reasons before it would send anything; no money moves. */
export const refusing = (subject: SchemeSubject, what: string, words: ReadonlyArray<string>, request: PaymentRequest) =>
  gaining(
    subject,
    0n,
    withFacilitator(
      subject,
      Effect.fnUntraced(function* (service) {
        yield* refuses(`${what}, to be claimed,`, words, service.claim(request, yield* newClaim))
        yield* refuses(`${what}, to be settled,`, words, settle(service, request))
      })
    )
  )

/** Reads a payload with the subject's scheme facilitator. */
export const readPayment = Effect.fnUntraced(function* (subject: SchemeSubject, payload: unknown) {
  return yield* succeeds("reading a payment", subject.facilitator.read(subject.requirements, payload))
})

/** Signs a payment and reads it. */
export const newPayment = (subject: SchemeSubject, wish?: Wish) =>
  Effect.flatMap(sign(subject, wish), ({ signed }) => readPayment(subject, signed.payload))

/** The next slot of the first lane, if the family has lanes. */
export const slotOf = Effect.fnUntraced(function* (facilitator: SchemeFacilitator) {
  const [lane] = facilitator.lanes
  return lane === undefined
    ? undefined
    : { lane, number: yield* succeeds("nextSlot", facilitator.nextSlot(lane, "known")) }
})

/** Prepares payments in the next slot. */
export const prepareAll = Effect.fnUntraced(function* (
  facilitator: SchemeFacilitator,
  payments: ReadonlyArray<Payment>,
  change: (chainHead: ChainHead) => ChainHead = (chainHead) => chainHead
): Effect.fn.Return<Preparation, LawBroken> {
  const chainHead = yield* succeeds("chainHead", facilitator.chainHead)
  const slot = yield* slotOf(facilitator)
  return yield* succeeds("prepare", facilitator.prepare(payments, slot, change(chainHead)))
})

/** Prepares one payment in the next slot. */
export const plan = (facilitator: SchemeFacilitator, payment: Payment): Effect.Effect<PreparedTransaction, LawBroken> =>
  Effect.map(prepareAll(facilitator, [payment]), ({ prepared }) => prepared)

/**
 * Observes a slot once. A transfer counts if it happened since the first of its transactions was prepared; a bound
 * payment's counts from `earliest` on (Unix seconds), if given.
 */
export const look = (
  facilitator: SchemeFacilitator,
  payments: ReadonlyArray<Payment>,
  attempts: ReadonlyArray<PreparedTransaction>,
  earliest?: number
): Effect.Effect<TransactionObservation, LawBroken> => {
  const since = attempts[0]?.head ?? 0n
  const observedPayments = payments.map((payment) => ({ payment, since, ...(earliest !== undefined && { earliest }) }))
  return succeeds("observe", facilitator.observe(observedPayments, attempts))
}

const lookPause = 50
const maximumLooks = 400

/** Repeats a request until it succeeds. */
const asking = Effect.fnUntraced(function* <A>(
  what: string,
  ask: Effect.Effect<A, LawBroken>,
  isAnswer: (answer: A) => boolean
): Effect.fn.Return<A, LawBroken> {
  let last: A | undefined
  for (let looks = 0; looks < maximumLooks; looks++) {
    last = yield* ask
    if (isAnswer(last)) return last
    yield* Effect.sleep(lookPause)
  }
  return yield* new LawBroken({
    message: `no ${what} is seen in ${maximumLooks} looks; the last shows ${Formatter.format(last)}`
  })
})

/** Observes until the chain shows every payment's end, and the inclusion of their transaction. */
export const included = (
  facilitator: SchemeFacilitator,
  payments: ReadonlyArray<Payment>,
  attempts: ReadonlyArray<PreparedTransaction>,
  earliest?: number
): Effect.Effect<TransactionObservation, LawBroken> =>
  asking(
    "inclusion",
    look(facilitator, payments, attempts, earliest),
    (observation) =>
      observation.inclusion !== undefined && observation.observations.every(({ _tag }) => _tag !== "Pending")
  )

/** Maximum number of times the chain is advanced until it reports a payment's failure. */
const maximumRounds = 10
/** The time for which a family may reuse the newest head, in milliseconds. */
const roundPause = 300

/**
 * The same for failed payments: a chain reports a failure once it cannot be reverted, and to an observer that has
 * looked before.
 */
export const failed = Effect.fnUntraced(function* (
  { facilitator, finalise }: SchemeSubject,
  payments: ReadonlyArray<Payment>,
  attempts: ReadonlyArray<PreparedTransaction>,
  earliest?: number
): Effect.fn.Return<TransactionObservation, LawBroken> {
  for (let round = 0; round < maximumRounds; round++) {
    const observation = yield* look(facilitator, payments, attempts, earliest)
    if (observation.observations.every(({ _tag }) => _tag !== "Pending")) return observation
    yield* finalise((yield* succeeds("chainHead", facilitator.chainHead)).head.time)
    yield* Effect.sleep(roundPause)
  }
  return yield* new LawBroken({ message: "what has failed is not told, though it is final" })
})

/** Observes until the chain shows the inclusion of their transaction, whatever the payments' ends. */
export const transactionIncluded = (
  facilitator: SchemeFacilitator,
  payments: ReadonlyArray<Payment>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.Effect<TransactionObservation, LawBroken> =>
  asking("inclusion", look(facilitator, payments, attempts), (observation) => observation.inclusion !== undefined)

/** Repeats until the chain proves the end of a payment, and advances it meanwhile: an end may count only as of two final blocks. */
export const concluded = (
  { facilitator, finalise }: SchemeSubject,
  payment: Payment,
  since: bigint
): Effect.Effect<Conclusion, LawBroken> =>
  asking(
    "conclusion",
    Effect.tap(succeeds("conclude", facilitator.conclude({ payment, since })), ({ _tag }) =>
      _tag === "Pending"
        ? Effect.flatMap(succeeds("chainHead", facilitator.chainHead), ({ head }) => finalise(head.time + 1))
        : Effect.void
    ),
    ({ _tag }) => _tag !== "Pending"
  )
