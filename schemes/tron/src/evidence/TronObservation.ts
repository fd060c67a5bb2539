/**
 * What the chain shows of payments: the transaction's receipt and the token's own event in it. A transaction that a node
 * has taken may still fail in its block, by a revert or for want of energy: that the money did not move is proven when two looks
 * at the chain agree on it, with a block between them, and the block is solidified. One that is taken back takes the failure
 * with it, and the same bytes may move the money then: whoever had been told to sign others would pay twice.
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

import type { ExactTronChain } from "../exact/ExactTronChain.ts"
import type * as TronRpc from "../node/TronRpc.ts"
import type { Held } from "../payment/ExactTronReading.ts"
import * as TronTransferEvidence from "./TronTransferEvidence.ts"

/** A payment that is looked for, and whether its transfer in a block counts as its own. */
export interface Sought {
  readonly held: Held
  readonly isOwn: (block: OwnTransfer.TimedBlock) => boolean
}

const pending = { _tag: "Pending" } as const

/** A transaction that is in a block. */
interface Found {
  readonly receipt: TronRpc.Receipt
  readonly block: Block
  /** The block's time; Unix seconds. */
  readonly time: number
}

/** Observes. Under the policy `solidified` a transaction is not seen before its block is. */
export const observe = Effect.fnUntraced(function* (
  chain: ExactTronChain,
  sought: ReadonlyArray<Sought>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TransactionObservation, ChainUnavailable> {
  const ids = new Set([...sought.map(({ held }) => held.id), ...attempts.map(({ transaction }) => transaction)])
  const found = new Map<string, Found>()
  for (const id of ids) {
    const mine = sought.filter(({ held }) => held.id === id)
    const one = yield* chain.look(id, findTwice(chain, id, mine))
    if (one !== undefined) found.set(id, one)
  }
  const attempt = attempts.find(({ transaction }) => found.has(transaction))
  const place = attempt && found.get(attempt.transaction)
  return {
    landed: attempt && place && { transaction: attempt.transaction, block: place.block, cost: attempt.cost },
    observations: sought.map((one) => observed(one, found.get(one.held.id)))
  }
})

const find = Effect.fnUntraced(function* ({ finality, rpc }: ExactTronChain, id: string) {
  const receipt = yield* rpc.receipt(id, finality)
  if (receipt === undefined) return undefined
  const block = yield* rpc.block(receipt.block)
  if (block === undefined) {
    const message = `the node of ${rpc.network} does not know block ${receipt.block}, where it says ${id} is`
    return yield* new ChainUnavailable({ network: rpc.network, message })
  }
  const time = Number(block.time / 1000n)
  return { receipt, block: { number: block.number, hash: block.id }, time } satisfies Found
})

/** Nothing is found while it speaks against a payment and was seen only once, or in a block that may be taken back. */
const findTwice = Effect.fnUntraced(function* (chain: ExactTronChain, id: string, sought: ReadonlyArray<Sought>) {
  const found = yield* chain.twice(id, find(chain, id), (one) => failuresIn(one, sought))
  if (found === undefined || failuresIn(found, sought) === undefined) return found
  return found.block.number <= (yield* chain.rpc.solid).number ? found : undefined
})

/** What speaks against payments, in words that are equal where it is the same; `undefined` where nothing does. */
const failuresIn = (found: Found, sought: ReadonlyArray<Sought>): string | undefined => {
  const details = sought.flatMap((one) => {
    const seen = observed(one, found)
    return seen._tag === "Failed" ? [seen.error.detail] : []
  })
  return details.length === 0 ? undefined : [found.block.hash, found.receipt.result, ...details].join(" ")
}

const observed = ({ held, isOwn }: Sought, found: Found | undefined): PaymentObservation => {
  if (found === undefined) return pending
  const { block, receipt, time } = found
  const error = failureOf(held, receipt) ?? (isOwn({ number: block.number, time }) ? undefined : usedBefore(held))
  return error === undefined
    ? { _tag: "Settled", transaction: held.id, block, external: false }
    : { _tag: "Failed", transaction: held.id, error }
}

const usedBefore = ({ id }: Held) =>
  invalid("already_used", "on_chain", `the transaction ${id} was on the chain before it was sent from here`)

/** Why a transaction that is in a block has not moved the money; `undefined` when it has. */
const failureOf = ({ transfer }: Held, receipt: TronRpc.Receipt): PaymentError | ValidationError | undefined => {
  const { logs, message, result } = receipt
  if (result === "SUCCESS") {
    return TronTransferEvidence.isProven(transfer, logs)
      ? undefined
      : refuse("INVALID_RECIPIENT", "transfer_effect", "the token's events do not show the transfer of the amount")
  }
  const ended = `two looks at the chain agree that the transaction failed in its block (${result}): ${message}; no money has moved`
  if (result === "OUT_OF_ENERGY") return refuse("INSUFFICIENT_BALANCE", "out_of_energy", ended)
  return result === "REVERT"
    ? refuse("INSUFFICIENT_BALANCE", "reverted", ended)
    : invalid("unsupported_authorization", "transfer_failed", ended)
}

/**
 * Concludes: a payment that is in a block has moved the money or never will, and so has one that is in none once a
 * solidified block is past its expiration. The chain takes a transaction only in a block whose predecessor is of an earlier
 * time than its expiration.
 */
export const conclude = Effect.fnUntraced(function* (
  chain: ExactTronChain,
  sought: Sought
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { rpc } = chain
  const { held } = sought
  const seen = observed(sought, yield* findTwice(chain, held.id, [sought]))
  if (seen._tag === "Settled") return seen
  const solid = yield* rpc.solid
  if (solid.time < held.transfer.expiration) return pending
  const unused: Conclusion = { _tag: "Unused", at: { number: solid.number, hash: solid.id } }
  // Asked after the solidified block: what is in no block now, by either count, cannot come into one any more.
  const receipts = yield* Effect.all([rpc.receipt(held.id, "included"), rpc.receipt(held.id, "solidified")])
  if (receipts.every((receipt) => receipt === undefined)) return unused
  const last = observed(sought, yield* findTwice(chain, held.id, [sought]))
  return last._tag === "Failed" ? unused : last
})
