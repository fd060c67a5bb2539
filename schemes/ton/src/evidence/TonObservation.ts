/**
 * What the chain shows of a slot: the relayer's own transaction, and for each payment the way of its money to the credit
 * in the recipient's Jetton wallet, whoever brought the request to the payer's wallet.
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

import type { ExactTonChain } from "../exact/ExactTonChain.ts"
import * as TonPayer from "../exact/TonPayer.ts"
import type * as TonRpc from "../node/TonRpc.ts"
import * as TonTransaction from "../node/TonTransaction.ts"
import type { Held } from "../payment/ExactTonReading.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonRelay from "../sending/TonRelay.ts"
import * as TonBooks from "./TonBooks.ts"
import * as TonLanding from "./TonLanding.ts"
import * as TonTransfer from "./TonTransfer.ts"

/** Why nothing was sent for a payment, by its nonce. */
export interface Unsent {
  readonly note: (nonce: string, error: PaymentError | ValidationError) => void
  readonly reasonOf: (nonce: string) => PaymentError | ValidationError | undefined
}

const capacity = 10_000

/** Nothing yet. */
export const makeUnsent = (): Unsent => {
  const reasons = BoundedMap.oldestOut<string, PaymentError | ValidationError>(capacity)
  return {
    note: (nonce, error) => void reasons.set(nonce, error),
    reasonOf: (nonce) => reasons.get(nonce)
  }
}

/** How many payments are looked at at once. */
const concurrency = 8

/**
 * Looks. Before the relayer's transaction is there, nothing is said of the payments. A payment that cannot be looked at now,
 * such as one of an account with a very long history, keeps no other from its end.
 */
export const observe = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  unsent: Unsent,
  observedPayments: ReadonlyArray<ObservedPayment<Held>>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TransactionObservation, ChainUnavailable> {
  yield* Effect.forEach(observedPayments, ({ payment }) => chain.flying.take(payment.payload))
  const landing = yield* chain.landings.find(attempts)
  if (landing === undefined) return { inclusion: undefined, observations: observedPayments.map(() => pending) }
  const looks = yield* Effect.forEach(
    observedPayments,
    (observedPayment) => Effect.result(observeOne(chain, unsent, observedPayment, landing)),
    { concurrency }
  )
  const silent = looks.find(Result.isFailure)
  if (silent !== undefined && looks.every(Result.isFailure)) return yield* silent.failure
  return { inclusion: landing.inclusion, observations: looks.map(Result.getOrElse(() => pending)) }
})

const pending: PaymentObservation = { _tag: "Pending" }

const observeOne = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  unsent: Unsent,
  observedPayment: ObservedPayment<Held>,
  landing: TonLanding.TonLanding
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payload: held } = observedPayment.payment
  const hash = held.body.hash()
  const order = landing.transaction.sent.find(({ body, to }) => to === held.payer && body.hash().equals(hash))
  if (order === undefined) return yield* elsewhere(chain, observedPayment, unsent.reasonOf(held.nonce), landing)
  const begun = yield* chain.rpc.result(landing.lane, held.payer, order.createdLt)
  if (begun === undefined) return pending
  if (TonTransfer.carriesOut(held, begun)) return yield* followed(chain, observedPayment, begun, landing)
  const seen = yield* elsewhere(chain, observedPayment, refusedBy(begun), landing)
  if (seen._tag === "Pending") return seen
  const { inclusion, lane, transaction } = landing
  const relayed = { lane, transaction, name: inclusion.transaction }
  yield* chain.books.enterRefused(observedPayment.payment, relayed, begun, seen._tag === "Settled")
  return seen
})

/**
 * Our message did nothing for it: did anybody else's? While the wallet has not used the request's number nobody's did. Once
 * it has, its history tells, and what is not in there by then never will be. Without a reason the relayer's message in this slot
 * was one that sends nothing, or this process does not know why it sent nothing: then the request may still be brought to the
 * wallet by anybody, and its end is proven when its validity is over.
 */
const elsewhere = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  observedPayment: ObservedPayment<Held>,
  reason: PaymentError | ValidationError | undefined,
  { inclusion, transaction }: TonLanding.TonLanding
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payment } = observedPayment
  const { payload: held } = payment
  const { isDue, isLate } = yield* chain.searches.isDue(held)
  if (!isDue) return pending
  const account = yield* chain.rpc.account(held.payer)
  if (account.head.number < inclusion.block.number) return pending
  const isUsed = TonPayer.isUsed(held, account)
  if (!isUsed && held.kind === "external") {
    // The message may have been lost on its way to the node, which is not to be seen. To send it again does no harm.
    if (isLate) yield* chain.rpc.send(TonRelay.externalOf(held, account.state === "active"))
    return pending
  }
  if (!isUsed && reason === undefined) return pending
  const begun = isUsed ? yield* chain.searches.find(payment, account) : undefined
  const seen = begun && (yield* followed(chain, observedPayment, begun, undefined))
  if (held.kind === "external" && seen?._tag === "Settled") yield* chain.losses.settle(payment)
  if (held.kind === "external" && (seen === undefined || seen._tag === "Failed"))
    yield* chain.books.enterUnused(payment, TonBooks.shareOf(transaction), true)
  if (seen !== undefined) return seen
  yield* over(chain, payment)
  const error = held.kind === "external" ? numberUsed : (reason ?? numberUsed)
  return { _tag: "Failed", transaction: "", error }
})

/** Nothing is remembered of a payment that has ended. */
export const over = ({ flying, losses, searches }: ExactTonChain, payment: Payment<Held>): Effect.Effect<void> =>
  Effect.all([flying.free(payment.payload), searches.forget(payment.payload), losses.release(payment)], {
    discard: true
  })

/**
 * What becomes of a request that was carried out: by our message (`landing`), or by somebody else's. A payment is named by
 * the transaction of the recipient's Jetton wallet that credited it, which is where the money has moved.
 *
 * The request of a bound payment holds the query id that its challenge and salt give, so that whoever carried it out moved
 * the money for this payment and no other: it counts from when the payment's record was made (`OwnTransfer`). Of a payment
 * that is bound to nothing, what was carried out before it was prepared here may have been shown elsewhere.
 */
export const followed = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  observedPayment: ObservedPayment<Held>,
  begun: TonTransaction.TonTransaction,
  landing: TonLanding.TonLanding | undefined
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payload: held } = observedPayment.payment
  const recipient = yield* chain.jettons.walletOf(held.master, held.transfer.to)
  const way = yield* TonTransfer.follow(chain.rpc, held, recipient, begun)
  if (way._tag === "Underway") return pending
  const transaction = way._tag === "Credited" ? way.credit.hash : yield* nameOf(chain, held, begun, landing)
  const last = way._tag === "Credited" ? way.credit : way.at
  const block = yield* TonLanding.blockOf(chain.rpc, last)
  if (landing !== undefined)
    yield* chain.books.enter(observedPayment.payment, { ...landing, name: transaction }, last, way)
  yield* over(chain, observedPayment.payment)
  if (way._tag === "Stopped") return { _tag: "Failed", transaction, error: way.error }
  const isOurs = begun.cause?.from !== undefined && chain.relayers.has(begun.cause.from)
  const external = landing === undefined && held.kind === "w5-internal" && !isOurs
  const isRacing = !external && block.number + racingBlocks >= observedPayment.since
  if (!isRacing && !OwnTransfer.isOwn(observedPayment, { number: block.number, time: last.time }))
    return { _tag: "Failed", transaction, error: usedBefore(transaction) }
  return { _tag: "Settled", transaction, block, external }
})

/**
 * A payment is verified before it is prepared, and its wallet had not carried it out then. A message of ours, or the
 * payer's own that we have sent, counts from this many masterchain blocks before the head of its preparation: the block of
 * a transaction is known by its logical time, to a few blocks. Another's message counts by `OwnTransfer` alone.
 */
const racingBlocks = 40n

/** What ended without a credit is named by the message that carried the request. */
const nameOf = (
  chain: ExactTonChain,
  { payer }: Held,
  begun: TonTransaction.TonTransaction,
  landing: TonLanding.TonLanding | undefined
) => (landing === undefined ? originOf(chain.rpc, payer, begun) : Effect.succeed(landing.inclusion.transaction))

/** The external message that it all began with. */
const originOf = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  payer: TonAddress.Address,
  begun: TonTransaction.TonTransaction
): Effect.fn.Return<string, ChainUnavailable> {
  const { cause } = begun
  if (cause?.from === undefined) return TonTransaction.originOf(payer, begun)
  const source = yield* rpc.origin(cause.from, payer, cause.createdLt)
  return source === undefined ? begun.hash : TonTransaction.originOf(cause.from, source)
})

const usedBefore = (transaction: string) =>
  invalid("already_used", transaction, `the request was carried out by ${transaction}, before it was claimed here`)

const numberUsed = refuse(
  "EXPIRED_PAYMENT",
  "seqno_consumed",
  "the payer's wallet has used the number of the request for another one; sign a new payment"
)

/** What W5 says to a request that it does not carry out. */
const refusedBy = ({ exitCode }: TonTransaction.TonTransaction): PaymentError | ValidationError => {
  if (exitCode === 133)
    return refuse("EXPIRED_PAYMENT", "seqno_consumed", "the wallet has used the request's number for another one")
  if (exitCode === 136) return refuse("EXPIRED_PAYMENT", "expired", "the request came to the wallet after its validity")
  const message = `the payer's wallet did not carry the request out; its exit code was ${exitCode}`
  return invalid("unsupported_authorization", "wallet_refused", message)
}
