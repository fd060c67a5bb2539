/**
 * Signs the facilitator's own transactions: for one payment, for a batch, and noops.
 */
import {
  type ChainUnavailable,
  FacilitatorUnavailable,
  Misconfigured,
  type Payment,
  type PaymentError,
  type Preparation,
  type PreparedTransaction,
  type Slot,
  type ChainHead,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as BatchCall from "../sending/BatchCall.ts"
import type * as EvmLosses from "../sending/EvmLosses.ts"
import * as NoopCall from "../sending/NoopCall.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import { type EvmTransactionSigner, sign } from "../wallet/EvmTransactionSigner.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"

/** The part of the chain's context that signing needs. */
export type SigningChain<P extends EvmLosses.CountedPayload = SignedAuthorization> = Pick<
  ExactEvmChain,
  "batches" | "callContext" | "chainId" | "network" | "signers"
> & { readonly losses: EvmLosses.EvmLosses<P> }

/** The call that settles a payment. */
export type CallOf<P = SignedAuthorization> = (
  payment: Payment<P>
) => Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable>

/**
 * The value that a payment's transaction has to bring now, in wei, which was `before` at first; `undefined` keeps that one. Fails where
 * nothing is to be signed now.
 */
export type ValueOf<P = SignedAuthorization> = (
  payment: Payment<P>,
  before: bigint
) => Effect.Effect<bigint | undefined, Misconfigured>

/**
 * Signs the transaction for the first payments of a list. Payments of plain accounts, and user operations, are batched where there
 * are settlers for them, up to the maximum cost of the transaction; a lone payment, and an authorization of a contract account, has a
 * transaction of its own. A payment that is left out of the transaction is not counted as pending.
 */
export const prepare = Effect.fnUntraced(function* <P extends EvmLosses.CountedPayload>(
  chain: SigningChain<P>,
  callOf: CallOf<P>,
  payments: ReadonlyArray<Payment<P>>,
  slot: Slot | undefined,
  chainHead: ChainHead,
  maximumCost?: bigint
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  const [first, ...others] = payments
  if (first === undefined) return yield* new Misconfigured({ message: "there is no payment to prepare" })
  const place = yield* placeOf(chain, slot)
  const alone = yield* Effect.catchTag(callOf(first), ["PaymentError", "ValidationError"], unverified)
  yield* Effect.catchTag(chain.losses.reserve(first, riskOf(alone), chainHead), "ValidationError", notRisked)
  const wanted = affordable(yield* batchOf(chain, callOf, alone, others), chainHead, maximumCost)
  const batch = wanted.slice(0, yield* reserved(chain, wanted, others, chainHead))
  const call = chain.batches === undefined || batch.length < 2 ? alone : BatchCall.toCall(chain.batches.settlers, batch)
  const prepared = yield* Effect.onError(signIn(chain, place, call, chainHead), () =>
    release(chain, payments.slice(0, Math.max(batch.length, 1)))
  )
  return { prepared, count: Math.max(batch.length, 1) }
})

/**
 * Signs the call of a transaction once more, at the chain head's fees, to replace it: with all of its payments, even those that
 * would be refused today, and by the settler that was configured then. A transaction that pays for a message brings what that costs now.
 */
export const prepareReplacement = Effect.fnUntraced(function* <P extends EvmLosses.CountedPayload>(
  chain: SigningChain<P>,
  payments: ReadonlyArray<Payment<P>>,
  slot: Slot | undefined,
  chainHead: ChainHead,
  replaced: PreparedTransaction,
  valueOf: ValueOf<P> = () => Effect.undefined
): Effect.fn.Return<Preparation, Misconfigured> {
  const place = yield* placeOf(chain, slot)
  const sent = Eip1559.callIn(replaced.bytes)
  const [first] = payments
  const value = sent?.value === undefined || first === undefined ? undefined : yield* valueOf(first, sent.value)
  const call = value === undefined || sent === undefined ? sent : { ...sent, value }
  if (call === undefined) {
    const message = `the bytes of ${replaced.transaction} are not an EIP-1559 transaction; it cannot be signed again`
    return yield* new Misconfigured({ message })
  }
  const share = call.gas / BigInt(Math.max(payments.length, 1))
  yield* Effect.forEach(payments, (payment) => chain.losses.hold(payment, share, chainHead), { discard: true })
  return { prepared: yield* signIn(chain, place, call, chainHead), count: payments.length }
})

/** Nothing will be sent for these payments: they no longer count as pending. */
export const release = <P extends EvmLosses.CountedPayload>(
  { losses }: SigningChain<P>,
  payments: ReadonlyArray<Payment<P>>
): Effect.Effect<void> => Effect.forEach(payments, (payment) => losses.release(payment), { discard: true })

/** Signs a transaction that does nothing, to use a slot up. */
export const noop = Effect.fnUntraced(function* (
  chain: SenderChain & Pick<ExactEvmChain, "rpc">,
  slot: Slot,
  chainHead: ChainHead
): Effect.fn.Return<PreparedTransaction, Misconfigured> {
  const place = yield* placeOf(chain, slot)
  return yield* signIn(chain, place, yield* NoopCall.make(chain.rpc, place.signer), chainHead)
})

/** The part of the context that a transaction without payments needs. */
type SenderChain = Omit<SigningChain, "batches" | "losses">

interface Place {
  readonly signer: EvmTransactionSigner
  readonly slot: Slot
}

const placeOf = (chain: SenderChain, slot: Slot | undefined): Effect.Effect<Place, Misconfigured> => {
  const signer = slot && chain.signers.get(slot.lane)
  if (slot !== undefined && signer !== undefined) return Effect.succeed({ signer, slot })
  const message = `no signer of ${chain.network} works the lane ${slot?.lane ?? "(none)"}`
  return Effect.fail(new Misconfigured({ message }))
}

const signIn = (
  chain: SenderChain,
  { signer, slot }: Place,
  { authorizationList, data, gas, to, value }: Eip1559.Call,
  chainHead: ChainHead
) =>
  sign(
    signer,
    chain.chainId,
    { to, data, gas, ...(value !== undefined && { value }), ...(authorizationList && { authorizationList }) },
    slot,
    chainHead,
    chain.callContext.crypto
  )

/** The first payment, and those right behind it that can be batched with it. */
const batchOf = Effect.fnUntraced(function* <P extends EvmLosses.CountedPayload>(
  { batches }: SigningChain<P>,
  callOf: CallOf<P>,
  first: TransferCall,
  others: ReadonlyArray<Payment<P>>
) {
  if (batches === undefined || !BatchCall.isBatched(batches.settlers, first)) return []
  const batch: Array<TransferCall> = [first]
  for (const payment of others.slice(0, batches.maximum - 1)) {
    const call = yield* Effect.result(callOf(payment))
    if (Result.isFailure(call) || !BatchCall.isBatched(batches.settlers, call.success)) break
    batch.push(call.success)
  }
  return batch
})

/** Reserves losses for the payments of a batch; returns the number that the budget allows. The first one is reserved already. */
const reserved = Effect.fnUntraced(function* <P extends EvmLosses.CountedPayload>(
  { losses }: SigningChain<P>,
  batch: ReadonlyArray<TransferCall>,
  others: ReadonlyArray<Payment<P>>,
  chainHead: ChainHead
) {
  for (const [index, call] of batch.slice(1).entries()) {
    const payment = others[index]
    if (payment === undefined) return index + 1
    if (Result.isFailure(yield* Effect.result(losses.reserve(payment, riskOf(call), chainHead)))) return index + 1
  }
  return batch.length
})

/** The first payments of a batch, up to the maximum cost of a transaction and the gas that a chain lets it have. */
const affordable = (
  batch: ReadonlyArray<TransferCall>,
  { fees }: ChainHead,
  maximumCost: bigint | undefined
): ReadonlyArray<TransferCall> => {
  let count = batch.length
  const isTooMuch = (gas: bigint) =>
    gas > Eip1559.mostGas || (maximumCost !== undefined && fees !== undefined && gas * fees.maximum > maximumCost)
  while (count > 1 && isTooMuch(BatchCall.gasOf(batch.slice(0, count)))) count--
  return batch.slice(0, count)
}

/** The most gas that may be lost with a payment, alone or in a batch. */
const riskOf = (call: TransferCall): bigint =>
  call.plain === undefined && call.permit === undefined ? call.gas : BatchCall.gasOf([call, call]) / 2n

/** The payer was banned after the verification: nothing has happened to the payment, and it may be tried again later. */
const notRisked = ({ message }: ValidationError) => Effect.fail(new FacilitatorUnavailable({ message }))

const unverified = (error: { readonly message: string }) =>
  Effect.fail(new Misconfigured({ message: `the payment to settle does not verify: ${error.message}` }))
