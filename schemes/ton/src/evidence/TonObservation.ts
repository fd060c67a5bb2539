/**
 * Observes a slot: the relayer's own transaction in it, and for each payment the transfer of its Jettons up to the credit in
 * the recipient's Jetton wallet, no matter which account sent the request to the payer's wallet.
 */
import {
  type ChainUnavailable,
  invalid,
  type PaymentObservation,
  OwnTransfer,
  type ObservedPayment,
  type Payment,
  type PaymentError,
  type PreparedTransaction,
  refuse,
  type TransactionObservation,
  type ValidationError
} from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type * as TonRpc from "../node/TonRpc.ts"
import * as TonTransaction from "../node/TonTransaction.ts"
import type { SignedJettonTransfer } from "../payment/ExactTonReading.ts"
import * as TonPayer from "../payment/TonPayer.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"
import type { PendingPayers } from "../sending/PendingPayers.ts"
import type { TonLosses } from "../sending/TonLosses.ts"
import * as TonRelay from "../sending/TonRelay.ts"
import type { TonTariff } from "../sending/TonTariff.ts"
import type { TonJettons } from "../transfer/TonJettons.ts"
import * as AgreedLooks from "./AgreedLooks.ts"
import * as TonExpenses from "./TonExpenses.ts"
import * as TonInclusion from "./TonInclusion.ts"
import type { TonSearches } from "./TonSearches.ts"
import * as TonTransferEvidence from "./TonTransferEvidence.ts"

/** The part of the facilitator's context that observations and conclusions use. */
export interface Context {
  readonly rpc: TonRpc.TonRpc
  readonly jettons: TonJettons
  /** The relayers by address. */
  readonly relayers: ReadonlyMap<string, unknown>
  /** Cost of relaying at the chain's prices. */
  readonly tariff: Effect.Effect<TonTariff, ChainUnavailable>
  readonly pendingPayers: PendingPayers
  readonly searches: TonSearches
  readonly inclusions: TonInclusion.TonInclusions
  readonly losses: TonLosses
  readonly expenses: TonExpenses.TonExpenses
  readonly looks: Looks
}

/** Results of earlier looks at relayed payments, by the relayer's transaction and the payment. */
export interface Looks {
  /** Ends of payments. */
  readonly ends: AgreedLooks.AgreedLooks<EndObservation>
  /** The transactions of payers' wallets that a relayer's messages caused. */
  readonly results: AgreedLooks.AgreedLooks<TonTransaction.TonTransaction>
}

type EndObservation = Exclude<PaymentObservation, { readonly _tag: "Pending" }>

/** Nothing was shown yet. */
export const makeLooks = (): Looks => ({
  ends: AgreedLooks.make<EndObservation>(
    (one, other) => one._tag === other._tag && one.transaction === other.transaction && blockIn(one) === blockIn(other)
  ),
  results: AgreedLooks.make<TonTransaction.TonTransaction>((one, other) => one.hash === other.hash)
})

const blockIn = (end: EndObservation): string | undefined => (end._tag === "Settled" ? end.block.hash : undefined)

type Observed = ObservedPayment<SignedJettonTransfer>

/** Payments for which no message was sent, each with the reason, by nonce. */
export interface UnsentPayments {
  readonly record: (nonce: string, reason: PaymentError | ValidationError) => void
  readonly reasonOf: (nonce: string) => PaymentError | ValidationError | undefined
}

const capacity = 10_000

/** An empty record of unsent payments; it keeps the newest 10,000. */
export const makeUnsentPayments = (): UnsentPayments => {
  const reasons = BoundedMap.oldestOut<string, PaymentError | ValidationError>(capacity)
  return {
    record: (nonce, reason) => void reasons.set(nonce, reason),
    reasonOf: (nonce) => reasons.get(nonce)
  }
}

/** Payments that are observed at the same time. */
const concurrency = 8

/**
 * Observes a slot's transaction and its payments. The payments are pending until the relayer's transaction is included. A
 * payment that cannot be observed now, for example because its account has a very long history, does not delay the others.
 */
export const observe = Effect.fnUntraced(function* (
  context: Context,
  unsent: UnsentPayments,
  observedPayments: ReadonlyArray<Observed>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TransactionObservation, ChainUnavailable> {
  yield* Effect.forEach(observedPayments, ({ payment }) => context.pendingPayers.take(payment.payload))
  const included = yield* context.inclusions.find(attempts)
  if (included === undefined) return { inclusion: undefined, observations: observedPayments.map(() => pending) }
  const results = yield* Effect.forEach(
    observedPayments,
    (observed) => Effect.result(observeUntilAgreed(context, unsent, observed, included)),
    { concurrency }
  )
  const failed = results.find(Result.isFailure)
  if (failed !== undefined && results.every(Result.isFailure)) return yield* failed.failure
  return { inclusion: included.inclusion, observations: results.map(Result.getOrElse(() => pending)) }
})

const pending: PaymentObservation = { _tag: "Pending" }

const observeUntilAgreed = (
  context: Context,
  unsent: UnsentPayments,
  observed: Observed,
  included: TonInclusion.TonInclusion
): Effect.Effect<PaymentObservation, ChainUnavailable> =>
  Effect.map(
    context.looks.ends.of(
      keyOf(observed, included),
      Effect.map(observeOne(context, unsent, observed, included), (seen) =>
        seen._tag === "Pending" ? undefined : seen
      )
    ),
    (end) => end ?? pending
  )

/** Key with the payer: the same request may be signed for two wallets of one key. */
const keyOf = ({ payment: { payload } }: Observed, { inclusion }: TonInclusion.TonInclusion): string =>
  `${inclusion.transaction} ${payload.payer} ${payload.nonce}`

const observeOne = Effect.fnUntraced(function* (
  context: Context,
  unsent: UnsentPayments,
  observed: Observed,
  included: TonInclusion.TonInclusion
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payload: signed } = observed.payment
  const hash = signed.body.hash()
  const message = included.transaction.sent.find(({ body, to }) => to === signed.payer && body.hash().equals(hash))
  if (message === undefined) return yield* observeUnsent(context, observed, unsent.reasonOf(signed.nonce), included)
  const walletTransaction = yield* context.looks.results.of(
    keyOf(observed, included),
    context.rpc.result(included.lane, signed.payer, message.createdLt)
  )
  if (walletTransaction === undefined) return pending
  if (TonTransferEvidence.carriesOut(signed, walletTransaction))
    return yield* observeTransfer(context, observed, walletTransaction, included)
  const { inclusion, lane, transaction } = included
  const relayed = { lane, transaction, name: inclusion.transaction }
  const record = (isSettled: boolean) =>
    context.expenses.recordRefused(observed.payment, relayed, walletTransaction, isSettled)
  // The owner of a wallet that refuses for another reason than a used number is to blame, however the payment ends.
  if (walletTransaction.exitCode !== numberExit) yield* record(false)
  const observation = yield* observeUnsent(context, observed, refusedBy(walletTransaction), included)
  if (observation._tag !== "Pending") yield* record(observation._tag === "Settled")
  return observation
})

/** Exit codes of a W5: the number of the request is not its own, or the validity is over. */
const numberExit = 133
const expiredExit = 136

/**
 * Observes a payment whose request our message did not carry out: another account's message may have. No message has while
 * the wallet has not used the request's number. Once it has, the wallet's history is the proof: a transaction that is not in
 * it then never will be. Without a `reason` the relayer's transaction in this slot was a noop, or this process does not know why
 * it sent nothing: then any account may still send the request to the wallet, and its end is proven after its validity.
 */
const observeUnsent = Effect.fnUntraced(function* (
  context: Context,
  observed: Observed,
  reason: PaymentError | ValidationError | undefined,
  { inclusion, transaction }: TonInclusion.TonInclusion
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payment } = observed
  const { payload: signed } = payment
  const { isDue, isLate } = yield* context.searches.isDue(signed)
  if (!isDue) return pending
  const account = yield* context.rpc.account(signed.payer)
  if (account.head.number < inclusion.block.number) return pending
  const isUsed = TonPayer.isUsed(signed, account)
  if (!isUsed && signed.kind === "external") {
    // The message may have been lost on its way to the node, which the chain does not show. Sending it again is harmless.
    if (isLate) yield* context.rpc.send(TonRelay.externalOf(signed, account.state === "active"))
    return pending
  }
  if (!isUsed && reason === undefined) return pending
  const walletTransaction = isUsed ? yield* context.searches.find(payment, account) : undefined
  const observation = walletTransaction && (yield* observeTransfer(context, observed, walletTransaction, undefined))
  if (signed.kind === "external" && observation?._tag === "Settled") yield* context.losses.settle(payment)
  if (signed.kind === "external" && (observation === undefined || observation._tag === "Failed"))
    yield* context.expenses.recordUnused(payment, TonExpenses.shareOf(transaction), true)
  if (observation !== undefined) return observation
  yield* forget(context, payment)
  const error = signed.kind === "external" ? numberUsed : (reason ?? numberUsed)
  return { _tag: "Failed", transaction: "", error }
})

type Records = Pick<Context, "losses" | "pendingPayers" | "searches">

/** Forgets a payment that has ended. */
export const forget = (records: Records, payment: Payment<SignedJettonTransfer>): Effect.Effect<void> =>
  Effect.andThen(records.pendingPayers.release(payment.payload), uncount(records, payment))

/** Puts a payment back whose bytes will not be sent: it may be prepared again. */
export const putBack = (records: Records, payment: Payment<SignedJettonTransfer>): Effect.Effect<void> =>
  Effect.andThen(records.pendingPayers.putBack(payment.payload), uncount(records, payment))

const uncount = ({ losses, searches }: Records, payment: Payment<SignedJettonTransfer>): Effect.Effect<void> =>
  Effect.andThen(searches.forget(payment.payload), losses.release(payment))

/**
 * Observes the transfer of a request that `walletTransaction` carried out, caused by our message (`included`) or by another
 * account's. A payment is named by the transaction of the recipient's Jetton wallet that credited it, where the money moved.
 *
 * The request of a bound payment holds the query id that its challenge and salt give, so a transfer by any account moved the
 * money for this payment and no other: it counts from the creation of the payment's record (`OwnTransfer`). The transfer of
 * an unbound payment from before its preparation here may have been shown to another facilitator.
 */
export const observeTransfer = Effect.fnUntraced(function* (
  context: Context,
  observed: Observed,
  walletTransaction: TonTransaction.TonTransaction,
  included: TonInclusion.TonInclusion | undefined
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payload: signed } = observed.payment
  const recipient = yield* context.jettons.walletOf(signed.master, signed.transfer.to)
  const evidence = yield* TonTransferEvidence.follow(context.rpc, signed, recipient, walletTransaction)
  if (evidence._tag === "Pending") return pending
  const isCredited = evidence._tag === "Credited"
  const transaction = isCredited ? evidence.credit.hash : yield* nameOf(context, signed, walletTransaction, included)
  const last = isCredited ? evidence.credit : evidence.at
  const block = yield* TonInclusion.blockOf(context.rpc, last)
  if (included !== undefined)
    yield* context.expenses.record(observed.payment, { ...included, name: transaction }, last, evidence)
  yield* forget(context, observed.payment)
  if (!isCredited) return { _tag: "Failed", transaction, error: evidence.error }
  const { cause } = walletTransaction
  const isOurs = cause?.from !== undefined && OwnTransfer.isSigner(observed, context.relayers, cause.from)
  const external = included === undefined && signed.kind === "w5-internal" && !isOurs
  const isRecent = !external && block.number + preparationBlocks >= observed.since
  if (!isRecent && !OwnTransfer.isOwn(observed, { number: block.number, time: last.time }))
    return { _tag: "Failed", transaction, error: usedBefore(transaction) }
  return { _tag: "Settled", transaction, block, external }
})

/**
 * Masterchain blocks before the head of a payment's preparation from which a message of ours, or the payer's own that we have
 * sent, counts: the payment was verified before it was prepared, and its wallet had not carried it out then. The block of a
 * transaction is known by its logical time, to a few blocks. Another account's message counts by `OwnTransfer` alone.
 */
const preparationBlocks = 40n

/** A payment that ended without a credit is named by the external message that carried the request. */
const nameOf = (
  context: Context,
  { payer }: SignedJettonTransfer,
  walletTransaction: TonTransaction.TonTransaction,
  included: TonInclusion.TonInclusion | undefined
) =>
  included === undefined
    ? originOf(context.rpc, payer, walletTransaction)
    : Effect.succeed(included.inclusion.transaction)

/** Hash of the external message that caused a transaction of the payer's wallet, directly or through another wallet. */
const originOf = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  payer: TonAddress.Address,
  walletTransaction: TonTransaction.TonTransaction
): Effect.fn.Return<string, ChainUnavailable> {
  const { cause } = walletTransaction
  if (cause?.from === undefined) return TonTransaction.originOf(payer, walletTransaction)
  const source = yield* rpc.origin(cause.from, payer, cause.createdLt)
  return source === undefined ? walletTransaction.hash : TonTransaction.originOf(cause.from, source)
})

const usedBefore = (transaction: string) =>
  invalid("already_used", transaction, `the request was carried out by ${transaction}, before it was claimed here`)

const numberUsed = refuse(
  "EXPIRED_PAYMENT",
  "seqno_consumed",
  "the payer's wallet has used the number of the request for another one; sign a new payment"
)

/**
 * Error for a request that a W5 did not carry out, by the exit code of its transaction; `undefined` where it may still carry it
 * out: an action that failed (mode 1) leaves the number unused, and any account may send the request again.
 */
const refusedBy = ({ exitCode }: TonTransaction.TonTransaction): PaymentError | undefined => {
  if (exitCode === numberExit)
    return refuse("EXPIRED_PAYMENT", "seqno_consumed", "the wallet has used the request's number for another one")
  if (exitCode === expiredExit)
    return refuse("EXPIRED_PAYMENT", "expired", "the request reached the wallet after its validity")
  return undefined
}
