/**
 * Signs the facilitator's own transactions: one that settles a payment, one that settles many, one that does nothing.
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
import * as BatchSettling from "../sending/BatchSettling.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import type { PlainTransfer } from "../transfer/PackedTransfers.ts"
import { type EvmTransactionSigner, sign } from "../wallet/EvmTransactionSigner.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"

/** The call that settles a payment. */
export type CallOf = (
  payment: Payment<SignedAuthorization>
) => Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable>

/**
 * Signs the transaction for the first payments of a list. Payments of plain accounts travel together where there is a
 * batch settler, as long as the transaction costs no more than it may; a payment that has no company, and one of a contract
 * account, is a plain transfer. What is left out of the transaction is not counted as on its way.
 */
export const prepare = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  callOf: CallOf,
  payments: ReadonlyArray<Payment<SignedAuthorization>>,
  slot: Slot | undefined,
  chainHead: ChainHead,
  maximumCost?: bigint
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  const [first, ...others] = payments
  if (first === undefined) return yield* new Misconfigured({ message: "there is no payment to prepare" })
  const place = yield* placeOf(chain, slot)
  const alone = yield* Effect.catchTag(callOf(first), ["PaymentError", "ValidationError"], unverified)
  yield* Effect.catchTag(chain.losses.reserve(first, riskOf(alone), chainHead), "ValidationError", notRisked)
  const wanted = affordable(yield* companyOf(chain, callOf, alone, others), chainHead, maximumCost)
  const company = wanted.slice(0, yield* risked(chain, wanted, others, chainHead))
  const call =
    chain.batches === undefined || company.length < 2
      ? alone
      : BatchSettling.toCall(
          chain.batches.settler,
          company.map(({ plain }) => plain)
        )
  const prepared = yield* Effect.onError(signIn(chain, place, call, chainHead), () =>
    release(chain, payments.slice(0, Math.max(company.length, 1)))
  )
  return { prepared, count: Math.max(company.length, 1) }
})

/**
 * Signs the call of a transaction once more, at the chain head's fees, to take its place: all of its payments, whichever of them
 * would be taken today, by the settler that was configured then.
 */
export const prepareAgain = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  payments: ReadonlyArray<Payment<SignedAuthorization>>,
  slot: Slot | undefined,
  chainHead: ChainHead,
  replaced: PreparedTransaction
): Effect.fn.Return<Preparation, Misconfigured> {
  const place = yield* placeOf(chain, slot)
  const call = Eip1559.callIn(replaced.bytes)
  if (call === undefined) {
    const message = `the bytes of ${replaced.transaction} are no transaction of EIP-1559; it cannot be signed again`
    return yield* new Misconfigured({ message })
  }
  const share = call.gas / BigInt(Math.max(payments.length, 1))
  yield* Effect.forEach(payments, (payment) => chain.losses.hold(payment, share, chainHead), { discard: true })
  return { prepared: yield* signIn(chain, place, call, chainHead), count: payments.length }
})

/** Nothing will be sent for these payments: they are not counted as on their way any more. */
export const release = (
  { losses }: ExactEvmChain,
  payments: ReadonlyArray<Payment<SignedAuthorization>>
): Effect.Effect<void> => Effect.forEach(payments, (payment) => losses.release(payment), { discard: true })

/** Signs a transaction that does nothing, to use a slot up. */
export const noop = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  slot: Slot,
  chainHead: ChainHead
): Effect.fn.Return<PreparedTransaction, Misconfigured> {
  const place = yield* placeOf(chain, slot)
  return yield* signIn(chain, place, { to: place.signer.address, data: "0x", gas: 21_000n }, chainHead)
})

interface Place {
  readonly signer: EvmTransactionSigner
  readonly slot: Slot
}

const placeOf = (chain: ExactEvmChain, slot: Slot | undefined): Effect.Effect<Place, Misconfigured> => {
  const signer = slot && chain.signers.get(slot.lane)
  if (slot !== undefined && signer !== undefined) return Effect.succeed({ signer, slot })
  const message = `no signer of ${chain.network} works the lane ${slot?.lane ?? "(none)"}`
  return Effect.fail(new Misconfigured({ message }))
}

const signIn = (chain: ExactEvmChain, { signer, slot }: Place, { data, gas, to }: Eip1559.Call, chainHead: ChainHead) =>
  sign(signer, chain.chainId, { to, data, gas }, slot, chainHead, chain.judges.crypto)

/** A payment in company. */
interface Companion {
  readonly call: TransferCall
  readonly plain: PlainTransfer
}

/** The first payment and those right behind it that can travel with it. */
const companyOf = Effect.fnUntraced(function* (
  { batches }: ExactEvmChain,
  callOf: CallOf,
  first: TransferCall,
  others: ReadonlyArray<Payment<SignedAuthorization>>
) {
  if (batches === undefined || first.plain === undefined) return []
  const company: Array<Companion> = [{ call: first, plain: first.plain }]
  for (const payment of others.slice(0, batches.maximum - 1)) {
    const call = yield* Effect.result(callOf(payment))
    if (Result.isFailure(call) || call.success.plain === undefined) break
    company.push({ call: call.success, plain: call.success.plain })
  }
  return company
})

/** How many of a company may be risked; these are counted. The first one is counted already. */
const risked = Effect.fnUntraced(function* (
  { losses }: ExactEvmChain,
  company: ReadonlyArray<Companion>,
  others: ReadonlyArray<Payment<SignedAuthorization>>,
  chainHead: ChainHead
) {
  for (const [index, { call }] of company.slice(1).entries()) {
    const payment = others[index]
    if (payment === undefined) return index + 1
    if (Result.isFailure(yield* Effect.result(losses.reserve(payment, riskOf(call), chainHead)))) return index + 1
  }
  return company.length
})

/** As many as one transaction pays for. */
const affordable = (
  company: ReadonlyArray<Companion>,
  { fees }: ChainHead,
  maximumCost: bigint | undefined
): ReadonlyArray<Companion> => {
  if (maximumCost === undefined || fees === undefined) return company
  const transfers = company.map(({ plain }) => plain)
  let count = company.length
  while (count > 1 && BatchSettling.gasOf(transfers.slice(0, count)) * fees.maximum > maximumCost) count--
  return company.slice(0, count)
}

/** The most gas that may be lost with a payment, alone or in company. */
const riskOf = ({ gas, plain }: TransferCall): bigint =>
  plain === undefined ? gas : BatchSettling.gasOf([plain, plain]) / 2n

/** Its payer was banned after it was verified: nothing has happened to it, and it may be tried again later. */
const notRisked = ({ message }: ValidationError) => Effect.fail(new FacilitatorUnavailable({ message }))

const unverified = (error: { readonly message: string }) =>
  Effect.fail(new Misconfigured({ message: `a payment was to be settled that does not verify: ${error.message}` }))
