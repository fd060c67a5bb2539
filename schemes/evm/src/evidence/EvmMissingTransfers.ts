/**
 * What becomes of payments whose transaction is in a block and does not show their transfers. The token's state as of that very
 * block says whether the authorization has ended by then; by what, its events tell; and if it has not, the transfer is
 * simulated on that state, to learn why. A node that does not have the block cannot answer, and then nothing is known.
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
import type { UnconfirmedFailure } from "./EvmUnconfirmedFailures.ts"

/** A payment that is looked for, with the call that can be simulated once more. */
export interface SoughtPayment extends EvmAuthorizationSearch.Sought {
  readonly call: Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable>
}

/** What a transfer comes to on the state of a block. */
export type Explain = (
  call: TransferCall,
  block: bigint | EvmRpc.BlockByHash
) => Effect.Effect<CallOutcome, ChainUnavailable>

/** Our transaction in its block. */
export interface Landing {
  readonly inclusion: Inclusion
  readonly receipt: EvmRpc.Receipt
  /** How many payments were in it. */
  readonly company: number
  /** It was made to do nothing but use its slot up. */
  readonly isFiller: boolean
}

/** What one look says of a payment: it is settled, nothing is known, or something speaks against it. */
export type Shown =
  | Extract<PaymentObservation, { readonly _tag: "Pending" | "Settled" }>
  | { readonly _tag?: undefined; readonly failure: UnconfirmedFailure }

const pending: Shown = { _tag: "Pending" }

/** How many payments are asked about at once. */
const concurrency = 16

/** Asks what has become of them. One that cannot be asked about now is pending and keeps no other from its end. */
export const ask = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  explain: Explain,
  landing: Landing,
  absent: ReadonlyArray<SoughtPayment>
): Effect.fn.Return<ReadonlyArray<Shown>> {
  const states = yield* Effect.forEach(
    absent,
    ({ expected }) => known(inItsBlock(landing, (block) => EvmTokenState.hasEnded(rpc, expected, block))),
    { concurrency }
  )
  const ended = absent.filter((_, index) => states[index] === true)
  const ends = (yield* known(endsOf(rpc, landing, ended))) ?? ended.map(() => pending)
  const reasons = yield* Effect.forEach(
    absent.filter((_, index) => states[index] === false),
    ({ call }) => Effect.map(known(unused(rpc.network, explain, landing, call)), (shown) => shown ?? pending),
    { concurrency }
  )
  const [endsInOrder, reasonsInOrder] = [ends.values(), reasons.values()]
  return states.map((isEnded) => {
    if (isEnded === undefined) return pending
    return (isEnded ? endsInOrder : reasonsInOrder).next().value ?? pending
  })
})

/**
 * Asks about the block of our transaction, by its hash; nodes that do not take one are asked by its number. One that is behind has
 * neither, and what one of another branch says is not told before the final state says it too.
 */
const inItsBlock = <A>(
  { receipt: { blockHash, blockNumber } }: Landing,
  ask: (block: bigint | EvmRpc.BlockByHash) => Effect.Effect<A, ChainUnavailable>
): Effect.Effect<A, ChainUnavailable> => Effect.catch(ask({ hash: blockHash }), () => ask(blockNumber))

/** A question that cannot be answered now says nothing. */
const known = <A>(asked: Effect.Effect<A, ChainUnavailable>): Effect.Effect<A | undefined> =>
  Effect.catch(asked, (error) =>
    Effect.as(Effect.logDebug("the chain could not be asked for a payment", error), undefined)
  )

/** By what their authorizations have ended. Where no event shows it, the node has not caught up with itself. */
const endsOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  landing: Landing,
  ended: ReadonlyArray<SoughtPayment>
): Effect.fn.Return<ReadonlyArray<Shown>, ChainUnavailable> {
  if (ended.length === 0) return []
  const read = EvmAuthorizationSearch.reader(rpc)
  const later = yield* found(
    ended,
    () => EvmAuthorizationSearch.after(rpc, ended, landing.receipt.blockNumber),
    (rest) => inItsBlock(landing, (block) => EvmAuthorizationSearch.inBlock(rpc, rest, block))
  )
  const earlier = yield* found(
    ended.filter((_, index) => later[index] === undefined),
    (rest) => EvmAuthorizationSearch.before(rpc, rest)
  )
  const earlierInOrder = earlier.values()
  return yield* Effect.forEach(ended, (observedPayment, index) => {
    const end = later[index]
    if (end !== undefined) return Effect.map(read(observedPayment.expected, end), (seen) => shownBy(seen, end))
    const before = earlierInOrder.next().value
    if (before !== undefined)
      return Effect.map(EvmAuthorizationSearch.own(rpc, observedPayment, before), (own) =>
        shownBy(own ?? EvmAuthorizationSearch.usedBefore(before.transactionHash), before)
      )
    // Ours alone and not refused, it has used the authorization: the token has taken the call and shows no transfer.
    return Effect.succeed(isTaken(landing) ? failureOf(landing, unproven, true) : pending)
  })
})

/** Asks in turn for those that were not found before. */
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
    const answers = (yield* search(rest)).values()
    ends = ends.map((end) => end ?? answers.next().value)
  }
  return ends
})

const shownBy = (seen: PaymentObservation, { blockHash, blockNumber }: EvmRpc.Log): Shown =>
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

const isTaken = ({ company, isFiller, receipt }: Landing): boolean =>
  company === 1 && !isFiller && receipt.status === "success"

/** The authorization has not ended: why has our transaction not moved the money? One that was not to says nothing of it. */
const unused = Effect.fnUntraced(function* (
  network: string,
  explain: Explain,
  landing: Landing,
  callOf: SoughtPayment["call"]
): Effect.fn.Return<Shown, ChainUnavailable> {
  if (landing.isFiller) return pending
  if (isTaken(landing)) return failureOf(landing, unproven, false)
  const call = yield* Effect.result(callOf)
  if (Result.isFailure(call)) {
    return call.failure._tag === "ChainUnavailable" ? yield* call.failure : failureOf(landing, call.failure, false)
  }
  const outcome = yield* inItsBlock(landing, (block) => explain(call.success, block))
  if (outcome._tag !== "Reverted") {
    const isWhole = landing.company > 1 && landing.receipt.status === "reverted"
    return failureOf(landing, isWhole ? wholeReverted : unexplained, false)
  }
  const revert = yield* EvmRevert.explain(outcome)
  // The node contradicts itself: it has said that the authorization is not used.
  if (revert._tag === "UsedOrCanceled") return pending
  const error = EvmRefusal.fromRevert(network, revert)
  return failureOf(landing, error._tag === "ChainUnavailable" ? paused : error, false)
})

/** What speaks against a payment as of the block of our transaction. */
export const failureOf = (
  { inclusion: { block }, receipt }: Landing,
  error: PaymentError | ValidationError,
  isEnded: boolean
): Shown => ({ failure: { error, transaction: EvmHex.fromTrusted(receipt.transactionHash), block, isEnded } })

const unexplained = invalid(
  "unsupported_authorization",
  "transfer_reverted",
  "the transfer was refused on the chain although it had been simulated with success; its validity is over, sign a new payment"
)

const wholeReverted = invalid(
  "unsupported_authorization",
  "batch_reverted",
  "the transaction that should have settled this payment together with others failed as a whole; its validity is over, sign a new payment"
)

const paused = invalid(
  "unsupported_authorization",
  "token_paused",
  "the token was paused before the transfer; sign a new payment when it is not"
)

const unproven = invalid(
  "unsupported_authorization",
  "transfer_not_shown",
  "the token took the call and shows no transfer; nothing can be paid in it"
)
