/**
 * Findings about payments whose transaction is included and does not show their transfers. The token's state as of that very
 * block shows whether the authorization has ended by then, and its events show by which transaction; if it has not ended, a
 * simulation of the transfer on that state gives the reason. With a node that lacks the block nothing is known.
 */
import {
  type ChainUnavailable,
  invalid,
  type Inclusion,
  type PaymentObservation,
  type PaymentError,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { CallOutcome } from "../node/EvmNodeError.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as EvmAuthorizationSearch from "./EvmAuthorizationSearch.ts"
import * as EvmTokenState from "./EvmTokenState.ts"
import * as EvmTransferEvidence from "./EvmTransferEvidence.ts"
import type { UnconfirmedFailure } from "./EvmUnconfirmedFailures.ts"

/** A payment to find, and its call, to be simulated once more. */
export interface SoughtPayment extends EvmTransferEvidence.SoughtAuthorization {
  readonly call: Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable>
  /** It is a push: it is submitted again once a final block shows that our transaction has not moved the money. */
  readonly isPush?: boolean
}

/** Simulates a transfer on the state of a block. */
export type Explain = (
  call: TransferCall,
  block: bigint | EvmRpc.BlockByHash
) => Effect.Effect<CallOutcome, ChainUnavailable>

/** Our transaction in its block. */
export interface IncludedTransaction {
  readonly inclusion: Inclusion
  readonly receipt: EvmTransferEvidence.TimedReceipt
  /** The number of its payments. */
  readonly paymentCount: number
  /** Whether it does nothing but use its slot up: it has tried no payment, and only the end of their validity is proof. */
  readonly isNoop: boolean
  /** Whether it calls x402's proxy itself. */
  readonly isDirect: boolean
  /** The coin that it has brought, in wei. */
  readonly value: bigint
}

/** The result of one search for a payment: it is settled, nothing is known, or it has failed as of this block. */
export type Finding =
  | Extract<PaymentObservation, { readonly _tag: "Pending" | "Settled" }>
  | { readonly _tag?: undefined; readonly failure: UnconfirmedFailure }

const pending: Finding = { _tag: "Pending" }

/** Payments read at the same time. */
const concurrency = 16

/** Finds out about the payments. One whose read fails now is pending and does not hold up the others. */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  explain: Explain,
  included: IncludedTransaction,
  absent: ReadonlyArray<SoughtPayment>
): Effect.fn.Return<ReadonlyArray<Finding>> {
  const states = yield* Effect.forEach(
    absent,
    ({ expected }) => known(inItsBlock(included, (block) => EvmTokenState.hasEnded(rpc, expected, block))),
    { concurrency }
  )
  const ended = absent.filter((_, index) => states[index] === true)
  const ends = (yield* known(endsOf(rpc, included, ended))) ?? ended.map(() => pending)
  const reasons = yield* Effect.forEach(
    absent.filter((_, index) => states[index] === false),
    ({ call }) => Effect.map(known(unused(rpc.network, explain, included, call)), (finding) => finding ?? pending),
    { concurrency }
  )
  const [endsInOrder, reasonsInOrder] = [ends.values(), reasons.values()]
  return states.map((isEnded) => {
    if (isEnded === undefined) return pending
    return (isEnded ? endsInOrder : reasonsInOrder).next().value ?? pending
  })
})

/**
 * Reads at the block of our transaction, by its hash, or by its number where the node does not accept a hash. A lagging node
 * has neither; a result from another branch is reported only when the final state agrees.
 */
const inItsBlock = <A>(
  { receipt: { blockHash, blockNumber } }: IncludedTransaction,
  read: (block: bigint | EvmRpc.BlockByHash) => Effect.Effect<A, ChainUnavailable>
): Effect.Effect<A, ChainUnavailable> => Effect.catch(read({ hash: blockHash }), () => read(blockNumber))

/** A read that fails now gives `undefined`. */
const known = <A>(read: Effect.Effect<A, ChainUnavailable>): Effect.Effect<A | undefined> =>
  Effect.catch(read, (error) =>
    Effect.as(Effect.logDebug("a payment could not be read from the chain", error), undefined)
  )

/** The findings by the events that ended the authorizations. Where no event shows the end, the node's events lag behind its state. */
const endsOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  included: IncludedTransaction,
  ended: ReadonlyArray<SoughtPayment>
): Effect.fn.Return<ReadonlyArray<Finding>, ChainUnavailable> {
  if (ended.length === 0) return []
  const read = EvmTransferEvidence.reader(rpc)
  const later = yield* found(
    ended,
    () => EvmAuthorizationSearch.after(rpc, ended, included.receipt.blockNumber),
    (rest) => inItsBlock(included, (block) => EvmAuthorizationSearch.inBlock(rpc, rest, block))
  )
  const earlier = yield* found(
    ended.filter((_, index) => later[index] === undefined),
    (rest) => EvmAuthorizationSearch.before(rpc, rest)
  )
  const earlierInOrder = earlier.values()
  return yield* Effect.forEach(ended, (observedPayment, index) => {
    const end = later[index]
    if (end !== undefined) return Effect.map(read(observedPayment, end), (seen) => findingOf(seen, end))
    const before = earlierInOrder.next().value
    if (before !== undefined)
      return Effect.map(EvmTransferEvidence.ownTransfer(rpc, observedPayment, before), (own) =>
        findingOf(own ?? EvmTransferEvidence.usedBefore(before.transactionHash), before)
      )
    const { expected } = observedPayment
    // Our successful transaction has this payment alone, so it used the authorization: the token logged no transfer.
    if (isTaken(included) && expected.operation === undefined)
      return Effect.succeed(failureOf(included, unproven, true))
    // The payer may have used the nonce up, and nothing logs it.
    const isBurnt = EvmTransferEvidence.isSilent(expected) && !included.isNoop
    return Effect.succeed(isBurnt ? failureOf(included, EvmTransferEvidence.nonceBurnt(expected), true) : pending)
  })
})

/** Searches in turn for the payments that the searches before have not found. */
const found = Effect.fnUntraced(function* (
  sought: ReadonlyArray<SoughtPayment>,
  ...searches: ReadonlyArray<
    (rest: ReadonlyArray<SoughtPayment>) => Effect.Effect<ReadonlyArray<EvmRpc.Log | undefined>, ChainUnavailable>
  >
) {
  let ends: ReadonlyArray<EvmRpc.Log | undefined> = sought.map(() => undefined)
  for (const search of searches) {
    const rest = sought.filter((_, index) => ends[index] === undefined)
    if (rest.length === 0) break
    const results = (yield* search(rest)).values()
    ends = ends.map((end) => end ?? results.next().value)
  }
  return ends
})

const findingOf = (seen: PaymentObservation, { blockHash, blockNumber }: EvmRpc.Log): Finding =>
  seen._tag === "Failed"
    ? {
        failure: {
          error: seen.error,
          transaction: seen.transaction,
          block: { number: blockNumber, hash: blockHash },
          isEnded: true
        }
      }
    : seen

/** Whether the token has accepted the call of a payment that is alone in our transaction. */
export const isTaken = ({ paymentCount, isNoop, receipt }: IncludedTransaction): boolean =>
  paymentCount === 1 && !isNoop && receipt.status === "success"

/** Finds the reason why our transaction has not moved the money although the authorization has not ended. A noop shows nothing. */
const unused = Effect.fnUntraced(function* (
  network: string,
  explain: Explain,
  included: IncludedTransaction,
  callOf: SoughtPayment["call"]
): Effect.fn.Return<Finding, ChainUnavailable> {
  if (included.isNoop) return pending
  if (isTaken(included)) return failureOf(included, unproven, false)
  const call = yield* Effect.result(callOf)
  if (Result.isFailure(call)) {
    return call.failure._tag === "ChainUnavailable" ? yield* call.failure : failureOf(included, call.failure, false)
  }
  const { value } = included
  const tried = call.success.value === undefined ? call.success : { ...call.success, value }
  const outcome = yield* inItsBlock(included, (block) => explain(tried, block))
  if (outcome._tag !== "Reverted") {
    const isWhole = included.paymentCount > 1 && included.receipt.status === "reverted"
    return failureOf(included, isWhole ? wholeReverted : unexplained, false)
  }
  const revert = yield* EvmRevert.explain(outcome)
  // The node contradicts itself: in its state the authorization is not used.
  if (revert._tag === "UsedOrCanceled") return pending
  const error = EvmRefusal.fromRevert(network, revert)
  return failureOf(included, error._tag === "ChainUnavailable" ? paused : error, false)
})

/** The failure of a payment as of the block of our transaction. */
export const failureOf = (
  { inclusion: { block }, receipt }: IncludedTransaction,
  error: PaymentError | ValidationError,
  isEnded: boolean
): Finding => ({ failure: { error, transaction: EvmHex.fromTrusted(receipt.transactionHash), block, isEnded } })

const unexplained = invalid(
  "unsupported_authorization",
  "transfer_reverted",
  "the transfer reverted on the chain although its simulation had succeeded; its validity is over, sign a new payment"
)

const wholeReverted = invalid(
  "unsupported_authorization",
  "batch_reverted",
  "the transaction for this payment and others reverted as a whole; its validity is over, sign a new payment"
)

const paused = invalid(
  "unsupported_authorization",
  "token_paused",
  "the token was paused before the transfer; sign a new payment when it is no longer paused"
)

const unproven = invalid(
  "unsupported_authorization",
  "transfer_not_shown",
  "the token accepted the call and logged no transfer; nothing can be paid in this token"
)
