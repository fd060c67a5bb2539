/**
 * Observation of a slot: the receipt of one of our transactions in it, and findings about each payment whose transfer that
 * receipt does not show, since anybody may have submitted the authorization before us. A failure is reported when it is
 * confirmed (`EvmUnconfirmedFailures`).
 */
import type {
  Block,
  ChainUnavailable,
  PaymentObservation,
  PaymentError,
  PreparedTransaction,
  TransactionObservation,
  ChainHead,
  UnmovedPush,
  ValidationError
} from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as EvmAuthorizationSearch from "./EvmAuthorizationSearch.ts"
import * as EvmMissingTransfers from "./EvmMissingTransfers.ts"
import * as EvmTokenState from "./EvmTokenState.ts"
import * as EvmTransferEvidence from "./EvmTransferEvidence.ts"
import * as EvmUnconfirmedFailures from "./EvmUnconfirmedFailures.ts"

/** The chain to observe, and the memory between observations. */
export interface Context {
  readonly rpc: EvmRpc.Shape
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
  readonly explain: EvmMissingTransfers.Explain
  readonly failures: EvmUnconfirmedFailures.EvmUnconfirmedFailures
  /** The last observations of lane transactions with failures, by their newest attempt. */
  readonly lastObservations: BoundedMap.BoundedMap<string, LastObservation>
}

/** An observation, and the hash of the newest block then. */
export interface LastObservation {
  readonly head: string
  readonly observation: CostedObservation
}

/** The memory of 1 000 last observations; one that is dropped is observed once more. */
export const makeLastObservations = (): Context["lastObservations"] => BoundedMap.oldestOut(1_000)

/**
 * The observation of a slot, the failure of each payment as of now (reported or not), and the loss by each failed payment, in
 * wei.
 */
export interface CostedObservation extends TransactionObservation {
  readonly against: ReadonlyArray<PaymentError | ValidationError | undefined>
  readonly lost: bigint
}

type SoughtPayment = EvmMissingTransfers.SoughtPayment

const pending: PaymentObservation = { _tag: "Pending" }

/**
 * Looks for one of the attempts (oldest first) in a block, and for the proof of each payment's transfer, or of its
 * impossibility. While none of the attempts is included, nothing is known of the payments.
 */
export const observe = Effect.fnUntraced(function* (
  context: Context,
  observedPayments: ReadonlyArray<SoughtPayment>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<CostedObservation, ChainUnavailable> {
  const key = `${attempts.at(-1)?.transaction} ${observedPayments.length}`
  const last = context.lastObservations.get(key)
  // A failure stays unconfirmed for minutes: only a new block can show more of it, and many payments wait for the same block.
  if (last !== undefined && last.head === (yield* context.chainHead).head.hash) return last.observation
  const observation = yield* observeNow(context, observedPayments, attempts)
  context.lastObservations.delete(key)
  const hasFailure = observation.inclusion !== undefined && observation.against.some((error) => error !== undefined)
  if (!hasFailure) return observation
  context.lastObservations.set(key, { head: (yield* context.chainHead).head.hash, observation })
  return observation
})

const observeNow = Effect.fnUntraced(function* (
  context: Context,
  observedPayments: ReadonlyArray<SoughtPayment>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<CostedObservation, ChainUnavailable> {
  const included = yield* includedOf(context.rpc, attempts, observedPayments.length)
  yield* forgetReorganised(context, observedPayments, included?.inclusion.block)
  if (included === undefined) {
    const against = observedPayments.map(({ expected }) => context.failures.find(expected)?.failure.error)
    return { inclusion: undefined, observations: observedPayments.map(() => pending), against, lost: 0n }
  }
  const uses = EvmTransferEvidence.usesIn(included.receipt.logs, included.isDirect)
  const own = observedPayments.map(({ expected }) => findingOf(included, uses, expected))
  const assessments = yield* Effect.catch(assessAll(context, included, observedPayments, own), (error) =>
    Effect.as(
      Effect.logDebug("payments missing from a transaction could not be read from the chain", error),
      own.map((one, index) => reported(one) ?? unchanged(context, observedPayments[index]))
    )
  )
  return {
    inclusion: included.inclusion,
    observations: assessments.map(({ observation }) => observation),
    against: assessments.map(({ failure }) => failure?.error),
    lost: lostWith(included, observedPayments, assessments)
  }
})

/** The included attempt. Only one can be; the newest is the likeliest. */
export const includedOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  attempts: ReadonlyArray<PreparedTransaction>,
  paymentCount: number
): Effect.fn.Return<EvmMissingTransfers.IncludedTransaction | undefined, ChainUnavailable> {
  for (const attempt of attempts.toReversed()) {
    const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, EvmHex.fromTrusted(attempt.transaction))
    if (receipt === undefined) continue
    // A node may leave out the price: it was at most the offered one.
    const price = receipt.effectiveGasPrice ?? attempt.fees?.maximum ?? 0n
    const inclusion = {
      transaction: attempt.transaction,
      block: { number: receipt.blockNumber, hash: receipt.blockHash },
      cost: receipt.gasUsed * price + (receipt.l1Fee ?? 0n) + valueOf(attempt, receipt)
    }
    const call = Eip1559.callIn(attempt.bytes)
    const isNoop = call?.data === "0x"
    const value = call?.value ?? 0n
    return { inclusion, receipt, paymentCount, isNoop, isDirect: call?.to === Permit2.proxy, value }
  }
  return undefined
})

/** The coin that a transaction has brought: a reverted one gives it back. A part that its contract has returned counts too. */
const valueOf = ({ bytes }: PreparedTransaction, { status }: EvmRpc.Receipt): bigint =>
  status === "success" ? (Eip1559.callIn(bytes)?.value ?? 0n) : 0n

const findingOf = (
  included: EvmMissingTransfers.IncludedTransaction,
  uses: EvmTransferEvidence.LoggedUses,
  expected: EvmTransferEvidence.ExpectedTransfer
): EvmMissingTransfers.Finding | undefined => {
  const { receipt } = included
  const verdict = EvmTransferEvidence.judge(expected, uses)
  if (verdict === "burnt")
    return EvmMissingTransfers.failureOf(included, EvmTransferEvidence.burnt(receipt.transactionHash), true)
  if (verdict === "failed")
    return EvmMissingTransfers.failureOf(included, EvmTransferEvidence.operationFailure(expected, receipt), true)
  return verdict === "paid" && receipt.status === "success" ? EvmTransferEvidence.settled(receipt, false) : undefined
}

/** The observation of one payment, and its failure, reported or not. */
interface Assessment {
  readonly observation: PaymentObservation | UnmovedPush
  readonly failure: EvmUnconfirmedFailures.UnconfirmedFailure | undefined
}

/** The assessment of a settled payment, which is reported at once. */
const reported = (finding: EvmMissingTransfers.Finding | undefined): Assessment | undefined =>
  finding?._tag === "Settled" ? { observation: finding, failure: undefined } : undefined

/** The assessment before this observation. */
const unchanged = ({ failures }: Context, observedPayment: SoughtPayment | undefined): Assessment => ({
  observation: pending,
  failure: observedPayment && failures.find(observedPayment.expected)?.failure
})

/**
 * Drops the failures whose block was reorganised. A node that lacks the block, or does not show our transaction, proves nothing
 * about it.
 */
const forgetReorganised = Effect.fnUntraced(function* (
  { failures, rpc }: Context,
  observedPayments: ReadonlyArray<SoughtPayment>,
  includedIn: Block | undefined
): Effect.fn.Return<void, ChainUnavailable> {
  for (const { expected } of observedPayments) {
    const known = failures.find(expected)
    if (known === undefined || known.block.hash === includedIn?.hash) continue
    const block = yield* rpc.getBlock(known.block.number)
    if (block !== undefined && block.hash !== known.block.hash) failures.forget(expected)
  }
})

/** Finds out about the payments that our transaction does not show, and reports a failure only once it is confirmed. */
const assessAll = Effect.fnUntraced(function* (
  context: Context,
  included: EvmMissingTransfers.IncludedTransaction,
  observedPayments: ReadonlyArray<SoughtPayment>,
  own: ReadonlyArray<EvmMissingTransfers.Finding | undefined>
): Effect.fn.Return<ReadonlyArray<Assessment>, ChainUnavailable> {
  const { failures, explain, rpc } = context
  const find = Effect.fnUntraced(function* (isWanted: (index: number) => boolean) {
    const wanted = observedPayments.filter((_, index) => own[index] === undefined && isWanted(index))
    const findings = (yield* EvmMissingTransfers.find(rpc, explain, included, wanted)).values()
    return own.map((one, index) => one ?? (isWanted(index) ? findings.next().value : undefined))
  })
  const known = observedPayments.map(({ expected }) => failures.find(expected))
  const fresh = yield* find((index) => known[index] === undefined)
  const noFailure = fresh.every((one, index) => known[index] === undefined && one?._tag !== undefined)
  if (noFailure) return fresh.map((one) => reported(one) ?? { observation: pending, failure: undefined })
  const chainHead = yield* context.chainHead
  const final = yield* rpc.getBlock(chainHead.final)
  // A token that has accepted the call and logged nothing may have moved the money all the same: that call is not repeated.
  const isTaken = EvmMissingTransfers.isTaken(included)
  const due = observedPayments.map(({ expected, isPush }, index) => {
    const one = known[index]
    const isRepeated = isPush === true && !isTaken
    return one && final && EvmUnconfirmedFailures.confirmedAs(one, chainHead, final, expected, isRepeated)
  })
  const again = due.every((one) => one === undefined) ? fresh : yield* find((index) => due[index] !== undefined)
  return yield* Effect.forEach(
    observedPayments,
    (observedPayment, index) =>
      Effect.catch(
        assess(
          context,
          included,
          chainHead,
          observedPayment,
          (due[index] === undefined ? fresh : again)[index],
          due[index]
        ),
        () => Effect.succeed(unchanged(context, observedPayments[index]))
      ),
    { concurrency: 8 }
  )
})

/** Assesses one payment. The first observation of a failure is remembered; a second one that agrees, when it is due, is reported. */
const assess = Effect.fnUntraced(function* (
  context: Context,
  { inclusion }: EvmMissingTransfers.IncludedTransaction,
  { final, head }: ChainHead,
  sought: SoughtPayment,
  finding: EvmMissingTransfers.Finding | undefined,
  due: EvmUnconfirmedFailures.ConfirmedEnd | undefined
): Effect.fn.Return<Assessment, ChainUnavailable> {
  const { failures, rpc } = context
  const { expected } = sought
  const known = failures.find(expected)
  const failure = finding === undefined || finding._tag !== undefined ? undefined : finding.failure
  if (finding?._tag === "Settled") {
    failures.forget(expected)
    return { observation: finding, failure: undefined }
  }
  if (known === undefined) {
    const unconfirmed: Assessment = { observation: pending, failure }
    if (failure === undefined) return unconfirmed
    failures.remember(expected, inclusion.block, failure, head.number)
    return yield* laterUse(rpc, sought, failure, head.number, unconfirmed)
  }
  const held: Assessment = { observation: pending, failure: known.failure }
  if (due === undefined) {
    if (head.number === known.lastObserved) return held
    known.lastObserved = head.number
    return yield* laterUse(rpc, sought, known.failure, head.number, held)
  }
  if (failure === undefined) return held
  if (!EvmUnconfirmedFailures.isSame(failure, known.failure)) {
    failures.remember(expected, inclusion.block, failure, head.number)
    return { ...held, failure }
  }
  // The state as of the final block has to agree: ended by another transaction, or not used at all.
  if ((yield* EvmTokenState.hasEnded(rpc, expected, final)) !== failure.isEnded)
    return yield* laterUse(rpc, sought, failure, head.number, held)
  if (due === "failed") return { observation: EvmTransferEvidence.failed(failure.transaction, failure.error), failure }
  // Another party may have submitted it in a block that is not final yet.
  if (yield* EvmTokenState.hasEnded(rpc, expected, head.number))
    return yield* laterUse(rpc, sought, failure, head.number, held)
  const { error, transaction } = failure
  return { observation: { _tag: "Unmoved", transaction, error }, failure }
})

/**
 * The assessment by a transfer after the failure, or `held` without one: while an authorization is valid anybody may submit it, even
 * after our transaction has failed.
 */
const laterUse = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: SoughtPayment,
  { block, isEnded }: EvmUnconfirmedFailures.UnconfirmedFailure,
  head: bigint,
  held: Assessment
): Effect.fn.Return<Assessment, ChainUnavailable> {
  if (isEnded) return held
  if (!(yield* EvmTokenState.hasEnded(rpc, sought.expected, head))) return held
  const [end] = yield* EvmAuthorizationSearch.after(rpc, [{ ...sought, since: block.number }], head)
  const seen = end && (yield* EvmTransferEvidence.reader(rpc)(sought, end))
  return seen?._tag === "Settled" ? { observation: seen, failure: undefined } : held
})

/** The least gas of a transfer that succeeds: the failed ones have burnt the rest. */
const leastGas = 40_000n
/** The most gas that a failed transfer of a batch can burn, by Permit2 too, and a failed user operation, which may deploy its account. */
const mostGas = { transfer: 175_000n, permit: 240_000n, operation: 1_000_000n }

/** The loss by each failed payment, in wei. */
const lostWith = (
  { inclusion: { cost }, receipt }: EvmMissingTransfers.IncludedTransaction,
  observedPayments: ReadonlyArray<SoughtPayment>,
  assessments: ReadonlyArray<Assessment>
): bigint => {
  const isFailed = (index: number) => assessments[index]?.failure !== undefined
  const failed = BigInt(assessments.filter((_, index) => isFailed(index)).length)
  const { gasUsed } = receipt
  if (failed === 0n || gasUsed === 0n) return 0n
  if (assessments.length === 1) return cost
  const settled = BigInt(
    assessments.filter(({ observation }) => observation._tag === "Settled" && !observation.external).length
  )
  const hasFailed = (way: "operation" | "permit") =>
    observedPayments.some(({ expected }, index) => expected[way] !== undefined && isFailed(index))
  const ofPermits = hasFailed("permit") ? mostGas.permit : mostGas.transfer
  const most = hasFailed("operation") ? mostGas.operation : ofPermits
  const burnt = gasUsed > settled * leastGas ? (gasUsed - settled * leastGas) / failed : 0n
  return ((burnt < most ? burnt : most) * cost) / gasUsed
}
