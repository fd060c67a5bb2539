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
  type Prepared,
  type Slot,
  type Survey,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as BatchSettling from "./BatchSettling.ts"
import type { UnsignedTransaction } from "./Eip1559.ts"
import { type EvmTransactionSigner, sign } from "./EvmTransactionSigner.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"
import type { Held } from "./ExactEvmReading.ts"
import type { PlainTransfer } from "./PackedTransfers.ts"

/**
 * The call that settles a payment.
 *
 * @category models
 */
export type CallOf = (
  payment: Payment<Held>
) => Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable>

/**
 * Signs the transaction for the first payments of a list. Payments of plain accounts travel together where there is a
 * batch settler, as long as the transaction costs no more than it may; a payment that has no company, and one of a contract
 * account, is a plain transfer.
 *
 * @category constructors
 */
export const prepare = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  callOf: CallOf,
  payments: ReadonlyArray<Payment<Held>>,
  slot: Slot | undefined,
  survey: Survey,
  maximumCost?: bigint
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  const [first, ...others] = payments
  if (first === undefined) return yield* new Misconfigured({ message: "there is no payment to prepare" })
  const place = yield* placeOf(chain, slot)
  const alone = yield* Effect.catchTag(callOf(first), ["PaymentError", "ValidationError"], unverified)
  yield* Effect.catchTag(chain.losses.reserve(first, riskOf(alone), survey), "ValidationError", notRisked)
  const company = affordable(yield* companyOf(chain, callOf, alone, others, survey), survey, maximumCost)
  const call =
    chain.batches === undefined || company.length < 2 ? alone : BatchSettling.toCall(chain.batches.settler, company)
  return { prepared: yield* signIn(chain, place, call, survey), count: Math.max(company.length, 1) }
})

/**
 * Signs a transaction that does nothing, to use a slot up.
 *
 * @category constructors
 */
export const fill = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  slot: Slot,
  survey: Survey
): Effect.fn.Return<Prepared, Misconfigured> {
  const place = yield* placeOf(chain, slot)
  return yield* signIn(chain, place, { to: place.signer.address, data: "0x", gas: 21_000n }, survey)
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

const signIn = (
  chain: ExactEvmChain,
  { signer, slot }: Place,
  { data, gas, to }: Pick<UnsignedTransaction, "to" | "data" | "gas">,
  survey: Survey
) => sign(signer, chain.chainId, { to, data, gas }, slot, survey, chain.judges.crypto)

/** The first payment and those right behind it that can travel with it. */
const companyOf = Effect.fnUntraced(function* (
  { batches, losses }: ExactEvmChain,
  callOf: CallOf,
  { plain: first }: TransferCall,
  others: ReadonlyArray<Payment<Held>>,
  survey: Survey
) {
  if (batches === undefined || first === undefined) return []
  const company: Array<PlainTransfer> = [first]
  for (const payment of others.slice(0, batches.maximum - 1)) {
    const call = yield* Effect.result(callOf(payment))
    if (Result.isFailure(call) || call.success.plain === undefined) break
    if (Result.isFailure(yield* Effect.result(losses.reserve(payment, riskOf(call.success), survey)))) break
    company.push(call.success.plain)
  }
  return company
})

/** As many as one transaction pays for. */
const affordable = (
  company: ReadonlyArray<PlainTransfer>,
  { fees }: Survey,
  maximumCost: bigint | undefined
): ReadonlyArray<PlainTransfer> => {
  if (maximumCost === undefined || fees === undefined) return company
  let count = company.length
  while (count > 1 && BatchSettling.gasOf(company.slice(0, count)) * fees.maximum > maximumCost) count--
  return company.slice(0, count)
}

/** The most gas that may be lost with a payment, alone or in company. */
const riskOf = ({ gas, plain }: TransferCall): bigint =>
  plain === undefined ? gas : BatchSettling.gasOf([plain, plain]) / 2n

/** Its payer was banned after it was verified: nothing has happened to it, and it may be tried again later. */
const notRisked = ({ message }: ValidationError) => Effect.fail(new FacilitatorUnavailable({ message }))

const unverified = (error: { readonly message: string }) =>
  Effect.fail(new Misconfigured({ message: `a payment was to be settled that does not verify: ${error.message}` }))
