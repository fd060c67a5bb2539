/**
 * The chain as one lane sees it: its head, and the state changes that it proves for the lane's transactions and payments. A failed
 * query shows nothing: it changes no state, and is not an end.
 */
import * as Effect from "effect/Effect"

import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import { isSettled } from "../../protocol/Settlement.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type {
  Block,
  ChainHead,
  Conclusion,
  ObservedPayment,
  PaymentObservation,
  SchemeFacilitator,
  TransactionObservation,
  UnmovedPush
} from "../../scheme/SchemeFacilitator.ts"
import * as Delivery from "../store/Delivery.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import type { StateChange, StoredPayment } from "../store/PaymentStore.ts"
import { type BatchedPayment, observedPaymentOf, type TrackedTransaction } from "./TrackedTransaction.ts"

/** One lane's view. `undefined` as a result: the chain could not be queried. */
export interface ChainView {
  readonly head: Effect.Effect<ChainHead | undefined>
  /**
   * A head that is not older than any of these payments: their own transfers are not in earlier blocks. It may be a quarter of a
   * second old.
   */
  readonly headFor: (payments: ReadonlyArray<StoredPayment>) => Effect.Effect<ChainHead, ChainUnavailable>
  /** The next slot by the transactions in blocks alone. */
  readonly nextSlot: Effect.Effect<bigint | undefined>
  /** The same by the transactions in final blocks. */
  readonly nextFinalSlot: Effect.Effect<bigint | undefined>
  readonly isCanonical: (block: Block) => Effect.Effect<boolean | undefined>
  /** Observes a transaction and its payments. */
  readonly observe: (transaction: TrackedTransaction) => Effect.Effect<TransactionObservation | undefined>
  /** The change that an observation makes of a payment: none while it is pending. */
  readonly changesBy: (
    batched: BatchedPayment,
    observation: PaymentObservation | UnmovedPush | undefined
  ) => ReadonlyArray<StateChange>
  /** The proven end of a payment, whichever transaction has moved its money. */
  readonly conclude: (
    transaction: TrackedTransaction | undefined,
    batched: BatchedPayment
  ) => Effect.Effect<Conclusion, ChainUnavailable>
  /** The change that the proven end of a payment makes; none while nothing is proven. */
  readonly conclusionOf: (
    transaction: TrackedTransaction | undefined,
    batched: BatchedPayment
  ) => Effect.Effect<ReadonlyArray<StateChange>>
}

/** The part of a lane that the view depends on. */
export interface Options {
  readonly scheme: SchemeFacilitator
  /** The lane's signer; empty for a family without slots. */
  readonly address: string
  /** The start of this process; Unix milliseconds. */
  readonly startedAt: number
  /** The time by which the store dates records. */
  readonly now: Effect.Effect<number>
  readonly transactions: ReadonlyMap<bigint, TrackedTransaction>
}

/** The longest time that a head serves later payments that are older than it; milliseconds. */
const headMillis = 250

/** The view of a lane that has not queried its chain yet. */
export const make = ({ address, now: storeNow, scheme, startedAt, transactions }: Options): ChainView => {
  let known: { readonly chainHead: ChainHead; readonly at: number } | undefined
  const changesBy: ChainView["changesBy"] = (batched, observation) =>
    changesOf(batched, observation, (transaction) => isOfLane(transactions, transaction))
  const conclude: ChainView["conclude"] = (transaction, batched) =>
    Effect.flatMap(observedIn(scheme, startedAt, transaction, batched), (observed) => scheme.conclude(observed))
  return {
    head: orUndefined(scheme.chainHead),
    headFor: Effect.fnUntraced(function* (payments) {
      // Records are dated by the store.
      const now = yield* storeNow
      const newest = payments.reduce((latest, { history }) => Math.max(latest, history[0]?.at ?? now), 0)
      const last = known
      if (last !== undefined && now >= last.at && now < last.at + headMillis && newest < last.at) return last.chainHead
      const chainHead = yield* scheme.chainHead
      known = { chainHead, at: now }
      return chainHead
    }),
    nextSlot: orUndefined(Effect.suspend(() => scheme.nextSlot(address, "included"))),
    nextFinalSlot: orUndefined(Effect.suspend(() => scheme.nextSlot(address, "final"))),
    isCanonical: (block) => orUndefined(scheme.isCanonical(block)),
    observe: (transaction) =>
      Effect.catch(
        scheme.observe(
          transaction.payments.map((batched) => observedPaymentOf(batched, headOf(transaction), startedAt)),
          transaction.attempts
        ),
        (error) => Effect.as(Effect.logDebug("the observation of a transaction failed", error), undefined)
      ),
    changesBy,
    conclude,
    conclusionOf: (transaction, batched) =>
      Effect.match(
        Effect.tapError(conclude(transaction, batched), (error) =>
          Effect.logDebug("the query for a payment's end failed", error)
        ),
        {
          onFailure: () => [],
          onSuccess: (conclusion) =>
            conclusion._tag === "Unused"
              ? [PaymentChange.endUnused(batched.stored, conclusion)]
              : changesBy(batched, conclusion)
        }
      )
  }
}

const orUndefined = <A>(query: Effect.Effect<A, ChainUnavailable>): Effect.Effect<A | undefined> =>
  Effect.catch(query, () => Effect.undefined)

const headOf = ({ attempts }: TrackedTransaction): bigint => attempts[0]?.head ?? 0n

/** A payment that was sent stays in its lane: if another transaction of the lane made its transfer, the transfer is ours. */
const isOfLane = (transactions: ReadonlyMap<bigint, TrackedTransaction>, transaction: string): boolean =>
  [...transactions.values()].some(({ attempts }) => attempts.some((attempt) => attempt.transaction === transaction))

/**
 * An unbound payment that a third party has sent is settled and opens nothing here: its bytes may have bought something at another
 * facilitator, which counts the same transfer. A bound one belongs to its payer alone, by the salt. A payment that no transaction
 * was prepared for here was sent by a third party. If a reorganisation takes its transaction back and ours is included, we have moved
 * the money, and the payment opens what it was signed for.
 */
const changesOf = (
  { payment, stored: { history, paymentId, refusal: before, requirements, since, status } }: BatchedPayment,
  observation: PaymentObservation | UnmovedPush | undefined,
  isOwn: (transaction: string) => boolean
): ReadonlyArray<StateChange> => {
  if (observation === undefined || observation._tag === "Pending") return []
  const { transaction } = observation
  if (observation._tag === "Failed") {
    return [{ paymentId, from: [status], to: "failed", transaction, refusal: observation.error }]
  }
  if (observation._tag === "Unmoved") {
    // Only pushes are queued again by themselves (`Pushing`).
    if (!Delivery.isPush(requirements)) return []
    const note = `the transaction ${transaction} has not made it: ${observation.error.detail}`
    return [{ paymentId, from: [status], to: "accepted", leave: true, note }]
  }
  const { block } = observation
  const isOthers = (observation.external || since === undefined) && !isOwn(transaction)
  const note = `block ${block.number}${isOthers ? ", sent by another" : ""}`
  // A grant made while our own transaction had settled the payment stays, whichever transaction a reorganisation puts first.
  const wasSettled = history.some((one) => isSettled(one.status))
  const opensNothing = isOthers && payment.authorization.binding === undefined && !wasSettled
  const refusal = opensNothing ? sentByAnother(transaction) : undefined
  const isLifted = before !== undefined && !isOthers
  const change = { paymentId, from: [status], to: "included", transaction, block, note } as const
  return [{ ...change, ...(refusal && { refusal }), ...(isLifted && { own: true }) }]
}

const sentByAnother = (transaction: string) =>
  invalid(
    "already_used",
    transaction,
    `the payee has the money, but a third party has sent the transfer (${transaction}); a payment that is not bound to its request opens nothing then`
  )

/** For a payment without a prepared transaction no block counts by its number: all blocks up to the head were there before. */
const observedIn = (
  scheme: SchemeFacilitator,
  startedAt: number,
  transaction: TrackedTransaction | undefined,
  batched: BatchedPayment
): Effect.Effect<ObservedPayment, ChainUnavailable> =>
  transaction === undefined && batched.stored.since === undefined
    ? Effect.map(scheme.chainHead, ({ head }) => observedPaymentOf(batched, head.number, startedAt))
    : Effect.succeed(observedPaymentOf(batched, transaction === undefined ? 0n : headOf(transaction), startedAt))
