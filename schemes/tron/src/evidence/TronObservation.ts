/**
 * Observes payments on the chain, by the transaction's receipt and the token's own event in it. A transaction that a node has
 * accepted may still fail in its block, by a revert or for lack of energy. The failure is proven when two reports agree on it, with
 * a block between them, and a solidified receipt shows it. A block that is dropped takes the failure with it, and the same bytes may
 * then move the money: a payer who had been told to sign another transaction would pay twice.
 */
import {
  type Block,
  ChainUnavailable,
  type Conclusion,
  invalid,
  type PaymentObservation,
  type OwnTransfer,
  type PaymentError,
  type PreparedTransaction,
  refuse,
  type TransactionObservation,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TronRpc from "../node/TronRpc.ts"
import type { SignedTransfer } from "../payment/ExactTronReading.ts"
import type { EndConfirmation } from "./EndConfirmation.ts"
import type { FailureConfirmation } from "./FailureConfirmation.ts"
import type { Lookup } from "./PerBlockLookup.ts"
import * as TronTransferEvidence from "./TronTransferEvidence.ts"

/** The parts of the chain connection that observations need. */
export interface Context {
  readonly rpc: TronRpc.TronRpc
  /** Block that shows a transaction: any, or a solidified one only. */
  readonly finality: "included" | "solidified"
  readonly lookup: Lookup
  readonly confirmFailure: FailureConfirmation
  readonly ends: EndConfirmation
}

/** A payment to find; `isOwn` says whether its transfer in a block counts as this payment. */
export interface SoughtPayment {
  readonly signed: SignedTransfer
  readonly isOwn: (block: OwnTransfer.TimedBlock) => boolean
}

const pending = { _tag: "Pending" } as const

interface IncludedTransaction {
  readonly receipt: TronRpc.Receipt
  readonly block: Block
  /** The block's time; Unix seconds. */
  readonly time: number
}

/** Observes payments. With the finality `solidified` a transaction counts as pending until its block is solidified. */
export const observe = Effect.fnUntraced(function* (
  chain: Context,
  sought: ReadonlyArray<SoughtPayment>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TransactionObservation, ChainUnavailable> {
  const ids = new Set([...sought.map(({ signed }) => signed.id), ...attempts.map(({ transaction }) => transaction)])
  const found = new Map<string, IncludedTransaction>()
  for (const id of ids) {
    const mine = sought.filter(({ signed }) => signed.id === id)
    const included = yield* chain.lookup(id, findConfirmed(chain, id, mine))
    if (included !== undefined) found.set(id, included)
  }
  const attempt = attempts.find(({ transaction }) => found.has(transaction))
  const place = attempt && found.get(attempt.transaction)
  return {
    inclusion: attempt && place && { transaction: attempt.transaction, block: place.block, cost: attempt.cost },
    observations: sought.map((one) => observed(one, found.get(one.signed.id)))
  }
})

const find = Effect.fnUntraced(function* ({ finality, rpc }: Context, id: string) {
  const receipt = yield* rpc.receipt(id, finality)
  if (receipt === undefined) return undefined
  const block = yield* rpc.block(receipt.block)
  if (block === undefined) {
    const message = `the node of ${rpc.network} lacks block ${receipt.block}, which its receipt of ${id} names`
    return yield* new ChainUnavailable({ network: rpc.network, message })
  }
  const time = Number(block.time / 1000n)
  return { receipt, block: { number: block.number, hash: block.id }, time } satisfies IncludedTransaction
})

/**
 * Hides a transaction whose payments failed until the failure is confirmed and its block can no longer be dropped. The solidified block
 * of another node does not show that this block is below it: the nodes may differ in it.
 */
const findConfirmed = Effect.fnUntraced(function* (chain: Context, id: string, sought: ReadonlyArray<SoughtPayment>) {
  const found = yield* chain.confirmFailure(id, find(chain, id), (one) => failuresIn(one, sought))
  if (found === undefined || failuresIn(found, sought) === undefined) return found
  const solid = yield* chain.rpc.receipt(id, "solidified")
  return solid?.block === found.receipt.block && solid.result === found.receipt.result ? found : undefined
})

/** Describes the failures of payments, equal failures by equal texts; `undefined` if none failed. */
const failuresIn = (found: IncludedTransaction, sought: ReadonlyArray<SoughtPayment>): string | undefined => {
  const details = sought.flatMap((one) => {
    const seen = observed(one, found)
    return seen._tag === "Failed" ? [seen.error.detail] : []
  })
  return details.length === 0 ? undefined : [found.block.hash, found.receipt.result, ...details].join(" ")
}

const observed = ({ isOwn, signed }: SoughtPayment, found: IncludedTransaction | undefined): PaymentObservation => {
  if (found === undefined) return pending
  const { block, receipt, time } = found
  const error = failureOf(signed, receipt) ?? (isOwn({ number: block.number, time }) ? undefined : usedBefore(signed))
  return error === undefined
    ? { _tag: "Settled", transaction: signed.id, block, external: false }
    : { _tag: "Failed", transaction: signed.id, error }
}

const usedBefore = ({ id }: SignedTransfer) =>
  invalid("already_used", "on_chain", `the transaction ${id} was on the chain before this facilitator submitted it`)

/** The reason why an included transaction did not move the money; `undefined` if it did. */
const failureOf = (
  { transfer }: SignedTransfer,
  receipt: TronRpc.Receipt
): PaymentError | ValidationError | undefined => {
  const { logs, message, result } = receipt
  if (result === "SUCCESS") {
    return TronTransferEvidence.isProven(transfer, logs)
      ? undefined
      : refuse("INVALID_RECIPIENT", "transfer_effect", "the token's events do not show the transfer of the amount")
  }
  const failure = `two reports of the node agree that the transaction failed in its block (${result}): ${message}; no money moved`
  if (result === "OUT_OF_ENERGY") return refuse("INSUFFICIENT_BALANCE", "out_of_energy", failure)
  return result === "REVERT"
    ? refuse("INSUFFICIENT_BALANCE", "reverted", failure)
    : invalid("unsupported_authorization", "transfer_failed", failure)
}

/**
 * Concludes a payment. An included transaction moved the money or never will; a transaction in no block never will once a
 * solidified block is past its expiration, because the chain includes a transaction only in a block whose predecessor's time is
 * before its expiration. A payment is unused only as of two solidified blocks; after the first look it is pending.
 */
export const conclude = Effect.fnUntraced(function* (
  chain: Context,
  sought: SoughtPayment
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { id } = sought.signed
  const seen = yield* concludeOnce(chain, sought)
  if (seen._tag === "Unused") return chain.ends.confirm(id, seen._tag, seen.at.number) ? seen : pending
  chain.ends.forget(id)
  return seen
})

/** Concludes a payment by one look, in which a node that lags may show no receipt of a transfer that was made. */
export const concludeOnce = Effect.fnUntraced(function* (
  chain: Context,
  sought: SoughtPayment
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { rpc } = chain
  const { signed } = sought
  const seen = observed(sought, yield* findConfirmed(chain, signed.id, [sought]))
  if (seen._tag === "Settled") return seen
  const solid = yield* rpc.solid
  if (solid.time < signed.transfer.expiration) return pending
  const unused: Conclusion = { _tag: "Unused", at: { number: solid.number, hash: solid.id } }
  // Requested after the solidified block: a transaction that neither view shows in a block now cannot enter one later.
  const receipts = yield* Effect.all([rpc.receipt(signed.id, "included"), rpc.receipt(signed.id, "solidified")])
  if (receipts.every((receipt) => receipt === undefined)) return unused
  const last = observed(sought, yield* findConfirmed(chain, signed.id, [sought]))
  return last._tag === "Failed" ? unused : last
})
