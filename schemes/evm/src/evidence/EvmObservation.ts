/**
 * What the chain shows of a slot: the receipt of one of our transactions in it, and for each payment whose transfer that
 * does not show, what else has become of it, since anybody may have submitted the authorization before us. What speaks
 * against a payment is told when it is beyond doubt (`EvmUnconfirmedFailures`).
 */
import type {
  Block,
  ChainUnavailable,
  PaymentObservation,
  PaymentError,
  PreparedTransaction,
  TransactionObservation,
  ChainHead,
  ValidationError
} from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmAuthorizationSearch from "./EvmAuthorizationSearch.ts"
import * as EvmInclusion from "./EvmInclusion.ts"
import * as EvmMissingTransfers from "./EvmMissingTransfers.ts"
import * as EvmTokenState from "./EvmTokenState.ts"
import * as EvmTransferEvidence from "./EvmTransferEvidence.ts"
import * as EvmUnconfirmedFailures from "./EvmUnconfirmedFailures.ts"

/** What is looked at, and what is remembered from one look to the next. */
export interface View {
  readonly rpc: EvmRpc.Shape
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
  readonly explain: EvmMissingTransfers.Explain
  readonly failures: EvmUnconfirmedFailures.EvmUnconfirmedFailures
  /** What the last looks at flights with failures have shown, by their newest transaction. */
  readonly lastLooks: BoundedMap.BoundedMap<string, LastLook>
}

/** A look, and the newest block then. */
export interface LastLook {
  readonly head: string
  readonly observation: CostedObservation
}

/** The memory for last looks: 1 000 of them; what is forgotten is looked at once more. */
export const makeLastLooks = (): View["lastLooks"] => BoundedMap.oldestOut(1_000)

/**
 * What the chain shows of a slot, what speaks against each payment as of now (told or not), and what each of these has cost
 * for nothing, in wei.
 */
export interface CostedObservation extends TransactionObservation {
  readonly against: ReadonlyArray<PaymentError | ValidationError | undefined>
  readonly lost: bigint
}

type SoughtPayment = EvmMissingTransfers.SoughtPayment

const pending: PaymentObservation = { _tag: "Pending" }

/**
 * Looks for one of the attempts (oldest first) in a block, and for the proof of each payment's transfer, or of its
 * impossibility. As long as none of them landed, nothing is known of the payments.
 */
export const observe = Effect.fnUntraced(function* (
  view: View,
  observedPayments: ReadonlyArray<SoughtPayment>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<CostedObservation, ChainUnavailable> {
  const key = `${attempts.at(-1)?.transaction} ${observedPayments.length}`
  const last = view.lastLooks.get(key)
  // A failure is held for minutes: only a new block can show anything of it, and many wait for the same one.
  if (last !== undefined && last.head === (yield* view.chainHead).head.hash) return last.observation
  const observation = yield* look(view, observedPayments, attempts)
  view.lastLooks.delete(key)
  const isHeld = observation.inclusion !== undefined && observation.against.some((error) => error !== undefined)
  if (!isHeld) return observation
  view.lastLooks.set(key, { head: (yield* view.chainHead).head.hash, observation })
  return observation
})

const look = Effect.fnUntraced(function* (
  view: View,
  observedPayments: ReadonlyArray<SoughtPayment>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<CostedObservation, ChainUnavailable> {
  const landing = yield* landingOf(view.rpc, attempts, observedPayments.length)
  yield* forgetTakenBack(view, observedPayments, landing?.inclusion.block)
  if (landing === undefined) {
    const against = observedPayments.map(({ expected }) => view.failures.find(expected)?.failure.error)
    return { inclusion: undefined, observations: observedPayments.map(() => pending), against, lost: 0n }
  }
  const evidence = EvmTransferEvidence.evidence(landing.receipt.logs)
  const own = observedPayments.map(({ expected }) => shownBy(landing, evidence, expected))
  const looks = yield* Effect.catch(judged(view, landing, observedPayments, own), (error) =>
    Effect.as(
      Effect.logDebug("the chain could not be asked for payments that a transaction does not show", error),
      own.map((one, index) => told(one) ?? heldOf(view, observedPayments[index]))
    )
  )
  return {
    inclusion: landing.inclusion,
    observations: looks.map(({ observation }) => observation),
    against: looks.map(({ failure }) => failure?.error),
    lost: lostWith(landing, looks)
  }
})

/** Only one of them can have landed; the newest is the likeliest. */
const landingOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  attempts: ReadonlyArray<PreparedTransaction>,
  company: number
): Effect.fn.Return<EvmMissingTransfers.Landing | undefined, ChainUnavailable> {
  for (const attempt of attempts.toReversed()) {
    const receipt = yield* EvmInclusion.receipt(rpc, EvmHex.fromTrusted(attempt.transaction))
    if (receipt === undefined) continue
    // Where a node does not tell the price, it was at most what was offered.
    const price = receipt.effectiveGasPrice ?? attempt.fees?.maximum ?? 0n
    const inclusion = {
      transaction: attempt.transaction,
      block: { number: receipt.blockNumber, hash: receipt.blockHash },
      cost: receipt.gasUsed * price + (receipt.l1Fee ?? 0n)
    }
    return { inclusion, receipt, company, isFiller: isFiller(attempt) }
  }
  return undefined
})

/** A transaction that calls nothing has tried none of them: only their validity's end is proof. */
const isFiller = ({ bytes }: PreparedTransaction): boolean => Eip1559.callIn(bytes)?.data === "0x"

const shownBy = (
  landing: EvmMissingTransfers.Landing,
  evidence: EvmTransferEvidence.Evidence,
  expected: EvmTransferEvidence.Expected
): EvmMissingTransfers.Shown | undefined => {
  const { receipt } = landing
  const verdict = EvmTransferEvidence.judge(expected, evidence)
  if (verdict === "burnt")
    return EvmMissingTransfers.failureOf(landing, EvmAuthorizationSearch.burnt(receipt.transactionHash), true)
  return verdict === "paid" && receipt.status === "success" ? settledHere(receipt) : undefined
}

const settledHere = ({ blockHash, blockNumber, transactionHash }: EvmRpc.Receipt): EvmMissingTransfers.Shown => ({
  _tag: "Settled",
  transaction: transactionHash,
  block: { number: blockNumber, hash: blockHash },
  external: false
})

/** What a look tells of a payment, and what speaks against it, told or not. */
interface Look {
  readonly observation: PaymentObservation
  readonly failure: EvmUnconfirmedFailures.UnconfirmedFailure | undefined
}

/** What is shown and is told at once: all but what speaks against it. */
const told = (shown: EvmMissingTransfers.Shown | undefined): Look | undefined =>
  shown?._tag === "Settled" ? { observation: shown, failure: undefined } : undefined

/** Nothing new. */
const heldOf = ({ failures }: View, observedPayment: SoughtPayment | undefined): Look => ({
  observation: pending,
  failure: observedPayment && failures.find(observedPayment.expected)?.failure
})

/**
 * What spoke against a payment does not any more when the block that our transaction was in was taken back. A node that does not
 * know that block, or shows no transaction, has said nothing of it.
 */
const forgetTakenBack = Effect.fnUntraced(function* (
  { failures, rpc }: View,
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

/** Asks about those that our transaction does not show, and holds what speaks against them back until it is beyond failure. */
const judged = Effect.fnUntraced(function* (
  view: View,
  landing: EvmMissingTransfers.Landing,
  observedPayments: ReadonlyArray<SoughtPayment>,
  own: ReadonlyArray<EvmMissingTransfers.Shown | undefined>
): Effect.fn.Return<ReadonlyArray<Look>, ChainUnavailable> {
  const { failures, explain, rpc } = view
  const asking = Effect.fnUntraced(function* (isAsked: (index: number) => boolean) {
    const asked = observedPayments.filter((_, index) => own[index] === undefined && isAsked(index))
    const answers = (yield* EvmMissingTransfers.ask(rpc, explain, landing, asked)).values()
    return own.map((one, index) => one ?? (isAsked(index) ? answers.next().value : undefined))
  })
  const known = observedPayments.map(({ expected }) => failures.find(expected))
  const fresh = yield* asking((index) => known[index] === undefined)
  const isQuiet = fresh.every((one, index) => known[index] === undefined && one?._tag !== undefined)
  if (isQuiet) return fresh.map((one) => told(one) ?? { observation: pending, failure: undefined })
  const chainHead = yield* view.chainHead
  const final = yield* rpc.getBlock(chainHead.final)
  const isDue = observedPayments.map(({ expected }, index) => {
    const one = known[index]
    return (
      one !== undefined && final !== undefined && EvmUnconfirmedFailures.isConfirmed(one, chainHead, final, expected)
    )
  })
  const again = isDue.includes(true) ? yield* asking((index) => isDue[index] === true) : fresh
  return yield* Effect.forEach(
    observedPayments,
    ({ expected }, index) =>
      Effect.catch(
        lookAt(view, landing, chainHead, expected, (isDue[index] ? again : fresh)[index], isDue[index] === true),
        () => Effect.succeed(heldOf(view, observedPayments[index]))
      ),
    { concurrency: 8 }
  )
})

/** What is told of one payment. A first look is remembered; a second one that agrees with it, when the time has come, is told. */
const lookAt = Effect.fnUntraced(function* (
  view: View,
  { inclusion }: EvmMissingTransfers.Landing,
  { final, head }: ChainHead,
  expected: EvmTransferEvidence.Expected,
  shown: EvmMissingTransfers.Shown | undefined,
  isDue: boolean
): Effect.fn.Return<Look, ChainUnavailable> {
  const { failures, rpc } = view
  const known = failures.find(expected)
  const failure = shown === undefined || shown._tag !== undefined ? undefined : shown.failure
  if (shown?._tag === "Settled") {
    failures.forget(expected)
    return { observation: shown, failure: undefined }
  }
  if (known === undefined) {
    if (failure !== undefined) failures.remember(expected, inclusion.block, failure, head.number)
    return { observation: pending, failure }
  }
  const held: Look = { observation: pending, failure: known.failure }
  if (!isDue) return yield* laterUse(rpc, expected, known, head.number, held)
  if (failure === undefined) return held
  if (!EvmUnconfirmedFailures.isSame(failure, known.failure)) {
    failures.remember(expected, inclusion.block, failure, head.number)
    return { ...held, failure }
  }
  // The state as of the final block says it too: ended on something else, or not used at all.
  if ((yield* EvmTokenState.hasEnded(rpc, expected, final)) !== failure.isEnded) return held
  return { observation: EvmAuthorizationSearch.failed(failure.transaction, failure.error), failure }
})

/** As long as an authorization is valid anybody may submit it, also after our transaction has failed. */
const laterUse = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferEvidence.Expected,
  known: EvmUnconfirmedFailures.RememberedFailure,
  head: bigint,
  held: Look
): Effect.fn.Return<Look, ChainUnavailable> {
  const { block, isEnded } = known.failure
  if (isEnded || head === known.lookedAt) return held
  known.lookedAt = head
  if (!(yield* EvmTokenState.hasEnded(rpc, expected, head))) return held
  const [end] = yield* EvmAuthorizationSearch.after(rpc, [{ expected, since: block.number }], head)
  const seen = end && (yield* EvmAuthorizationSearch.reader(rpc)(expected, end))
  return seen?._tag === "Settled" ? { observation: seen, failure: undefined } : held
})

/** What a transfer that succeeds costs at least, in gas: what the others have burnt is the rest. */
const leastGas = 40_000n
/** What one that fails in company can burn at most. */
const mostGas = 175_000n

/** What each payment that something speaks against has cost for nothing, in wei. */
const lostWith = (
  { inclusion: { cost }, receipt }: EvmMissingTransfers.Landing,
  looks: ReadonlyArray<Look>
): bigint => {
  const failed = BigInt(looks.filter(({ failure }) => failure !== undefined).length)
  const { gasUsed } = receipt
  if (failed === 0n || gasUsed === 0n) return 0n
  if (looks.length === 1) return cost
  const settled = BigInt(
    looks.filter(({ observation }) => observation._tag === "Settled" && !observation.external).length
  )
  const burnt = gasUsed > settled * leastGas ? (gasUsed - settled * leastGas) / failed : 0n
  return ((burnt < mostGas ? burnt : mostGas) * cost) / gasUsed
}
