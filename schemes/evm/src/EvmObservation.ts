/**
 * What the chain shows of a slot: the receipt of one of our transactions in it, and for each payment whose transfer that
 * does not show, the token's own events, since anybody may have submitted the authorization before us.
 */
import {
  type ChainUnavailable,
  invalid,
  type Landed,
  type Observation,
  type PaymentError,
  type Prepared,
  type Sighting,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as Eip1559 from "./Eip1559.ts"
import * as EvmEnding from "./EvmEnding.ts"
import * as EvmHex from "./EvmHex.ts"
import * as EvmInclusion from "./EvmInclusion.ts"
import type { CallOutcome } from "./EvmNodeRefusal.ts"
import * as EvmRefusal from "./EvmRefusal.ts"
import * as EvmRevert from "./EvmRevert.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import * as EvmTransferProof from "./EvmTransferProof.ts"

/**
 * A payment that is looked for, with the call that can be simulated once more, to learn why it failed.
 *
 * @category models
 */
export interface Passenger extends EvmEnding.Sought {
  readonly call: Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable>
}

/**
 * What a transfer comes to on the state as it is now.
 *
 * @category models
 */
export type Explain = (call: TransferCall) => Effect.Effect<CallOutcome, ChainUnavailable>

/**
 * What the chain shows of a slot, and what each payment that failed in it has cost for nothing, in wei.
 *
 * @category models
 */
export interface CostedSighting extends Sighting {
  readonly lost: bigint
}

/**
 * Looks for one of the attempts (oldest first) in a block, and for the proof of each payment's transfer, or of its
 * impossibility. As long as none of them landed, nothing is known of the payments.
 *
 * @category combinators
 */
export const observe = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  explain: Explain,
  passengers: ReadonlyArray<Passenger>,
  attempts: ReadonlyArray<Prepared>
): Effect.fn.Return<CostedSighting, ChainUnavailable> {
  const found = yield* landing(rpc, attempts)
  if (found === undefined) return { landed: undefined, observations: passengers.map(() => pending), lost: 0n }
  const { attempt, landed, receipt } = found
  const evidence = EvmTransferProof.evidence(receipt.logs)
  const own = passengers.map(({ expected }) => shownBy(receipt, evidence, expected))
  const unpaid = unpaidBy(attempt, receipt, passengers.length === 1)
  const observations = yield* completed(own, passengers, (absent) =>
    elsewhere(rpc, absent, (unused) => unpaid(rpc, explain, receipt, unused))
  )
  return { landed, observations, lost: lostWith(receipt, landed, observations) }
})

/** Why these were not paid. A transaction that calls nothing has tried none of them: only their validity's end is proof. */
const unpaidBy = ({ bytes }: Prepared, { status }: EvmRpc.Receipt, isAlone: boolean): Unpaid => {
  if (Eip1559.callIn(bytes)?.data === "0x") return untried
  if (isAlone && status === "success") return takenAlone
  return refused(status === "reverted" && !isAlone ? wholeReverted : unexplained)
}

/** What a transfer that succeeds costs at least, in gas: what the others have burnt is the rest. */
const leastGas = 40_000n
/** What one that fails in company can burn at most. */
const mostGas = 175_000n

/** What each payment that failed has cost for nothing, in wei. */
const lostWith = (receipt: EvmRpc.Receipt, { cost }: Landed, observations: ReadonlyArray<Observation>): bigint => {
  const failed = BigInt(observations.filter(({ _tag }) => _tag === "Failed").length)
  const { gasUsed } = receipt
  if (failed === 0n || gasUsed === 0n) return 0n
  if (observations.length === 1) return cost
  const settled = BigInt(observations.filter((one) => one._tag === "Settled" && !one.external).length)
  const burnt = gasUsed > settled * leastGas ? (gasUsed - settled * leastGas) / failed : 0n
  return ((burnt < mostGas ? burnt : mostGas) * cost) / gasUsed
}

const pending: Observation = { _tag: "Pending" }

/** Only one of them can have landed; the newest is the likeliest. */
const landing = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, attempts: ReadonlyArray<Prepared>) {
  for (const attempt of attempts.toReversed()) {
    const receipt = yield* EvmInclusion.receipt(rpc, EvmHex.fromTrusted(attempt.transaction))
    if (receipt !== undefined) return { attempt, receipt, landed: toLanded(attempt, receipt) }
  }
  return undefined
})

/** Where a node does not tell the price, it was at most what was offered. */
const toLanded = (attempt: Prepared, receipt: EvmRpc.Receipt): Landed => {
  const price = receipt.effectiveGasPrice ?? attempt.fees?.maximum ?? 0n
  return {
    transaction: attempt.transaction,
    block: { number: receipt.blockNumber, hash: receipt.blockHash },
    cost: receipt.gasUsed * price + (receipt.l1Fee ?? 0n)
  }
}

const shownBy = (
  receipt: EvmRpc.Receipt,
  evidence: EvmTransferProof.Evidence,
  expected: EvmTransferProof.Expected
): Observation | undefined => {
  const verdict = EvmTransferProof.judge(expected, evidence)
  if (verdict === "burnt") return EvmEnding.failed(receipt.transactionHash, EvmEnding.burnt(receipt.transactionHash))
  return verdict === "paid" && receipt.status === "success" ? EvmEnding.settled(receipt, false) : undefined
}

/** Asks for those that are not known yet, all at once, and puts the answers in their places. */
const completed = <A, E>(
  known: ReadonlyArray<Observation | undefined>,
  all: ReadonlyArray<A>,
  ask: (unknown: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<Observation>, E>
): Effect.Effect<ReadonlyArray<Observation>, E> => {
  const unknown = all.filter((_, index) => known[index] === undefined)
  if (unknown.length === 0) return Effect.succeed(known.map((one) => one ?? pending))
  return Effect.map(ask(unknown), (answers) => {
    const remaining = answers.values()
    return known.map((one) => one ?? remaining.next().value ?? pending)
  })
}

/** Our transaction is in a block and does not show these transfers: did somebody else's end the authorizations? */
const elsewhere = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  absent: ReadonlyArray<Passenger>,
  otherwise: (unused: ReadonlyArray<Passenger>) => Effect.Effect<ReadonlyArray<Observation>, ChainUnavailable>
) {
  const read = EvmEnding.reader(rpc)
  const ends = yield* EvmEnding.after(rpc, absent)
  const ended = yield* Effect.forEach(absent, ({ expected }, index) => {
    const end = ends[index]
    return end === undefined ? Effect.undefined : read(expected, end)
  })
  return yield* completed(ended, absent, otherwise)
})

/** What becomes of payments whose authorizations no event has ended. */
type Unpaid = (
  rpc: EvmRpc.Shape,
  explain: Explain,
  receipt: EvmRpc.Receipt,
  unused: ReadonlyArray<Passenger>
) => Effect.Effect<ReadonlyArray<Observation>, ChainUnavailable>

const untried: Unpaid = (_rpc, _explain, _receipt, unused) => Effect.succeed(unused.map(() => pending))

/** The token was called for this payment alone, and its call succeeded. */
const takenAlone: Unpaid = (_rpc, _explain, { transactionHash }, unused) =>
  Effect.succeed(unused.map(() => EvmEnding.failed(transactionHash, unproven)))

/**
 * Nobody's transfer is to be seen: each is simulated on the state as it is now, to learn why. Where the state knows a use
 * that the logs do not show, the node has not caught up with itself, and nothing is proven yet.
 */
const refused = (otherwise: ValidationError): Unpaid =>
  Effect.fnUntraced(function* (rpc, explain, { transactionHash: transaction }, unused) {
    const reasons = yield* Effect.forEach(unused, ({ call }) => reason(rpc.network, explain, call, otherwise), {
      concurrency: "unbounded"
    })
    const known = reasons.map((error) => (error === "ended" ? undefined : EvmEnding.failed(transaction, error)))
    return yield* completed(known, unused, (ended) => earlier(rpc, ended))
  })

/** These were used before they were prepared for: a bound one perhaps by its own transfer. */
const earlier = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, ended: ReadonlyArray<Passenger>) {
  const ends = yield* EvmEnding.before(rpc, ended)
  return yield* Effect.forEach(ended, (passenger, index) => {
    const end = ends[index]
    if (end === undefined) return Effect.succeed(pending)
    const used = EvmEnding.failed(end.transactionHash, usedBefore(end.transactionHash))
    return Effect.map(EvmEnding.own(rpc, passenger, end), (own) => own ?? used)
  })
})

/** Why a transfer fails now, or that the authorization has ended in some transaction. */
const reason = Effect.fnUntraced(function* (
  network: string,
  explain: Explain,
  callOf: Passenger["call"],
  otherwise: ValidationError
) {
  const call = yield* Effect.result(callOf)
  if (Result.isFailure(call)) return call.failure._tag === "ChainUnavailable" ? yield* call.failure : call.failure
  const outcome = yield* explain(call.success)
  if (outcome._tag !== "Reverted") return otherwise
  const revert = yield* EvmRevert.explain(outcome)
  if (revert._tag === "UsedOrCanceled") return "ended"
  const error = EvmRefusal.fromRevert(network, revert)
  return error._tag === "ChainUnavailable" ? paused : error
})

const usedBefore = (transaction: string) =>
  invalid("already_used", transaction, `the authorization was used in ${transaction}, before it was claimed here`)

const unexplained = invalid(
  "unsupported_authorization",
  "transfer_reverted",
  "the transfer was refused on the chain although it had been simulated with success; sign a new payment"
)

const wholeReverted = invalid(
  "unsupported_authorization",
  "batch_reverted",
  "the transaction that should have settled this payment together with others failed as a whole; sign a new payment"
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
