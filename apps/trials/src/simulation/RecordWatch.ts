/**
 * Looks at every record after every write, and compares what it says with what the chain really holds.
 */
import { PaymentChange, PaymentStore, Settlement } from "@pontage/core"

import type { Violation } from "./Invariant.ts"
import type { ChainTruth, SimulatedChain, TrueTransfer } from "./world/SimulatedChain.ts"
import type { SimulatedRecords } from "./world/SimulatedRecords.ts"

/** The parts of a world that are watched. */
export interface Watched {
  readonly chain: SimulatedChain
  readonly records: SimulatedRecords
  /** Payments that a claim was granted for before their money has moved. */
  readonly granted: Set<string>
  /** Nothing can happen to a payer's balance behind a facilitator's back. */
  readonly isCertain: boolean
  /** The records' time. */
  readonly now: () => number
  /** Told of each change, for the story. */
  readonly changed: (words: string) => void
  /** A caller was owed an answer, and it was given. */
  readonly debtTaken: (paymentId: string, process: string) => void
}

/** A watch. `look` returns the first thing that is not as promised. */
export const make = (watched: Watched): { readonly look: (process: string) => Violation | undefined } => {
  const known = new Map<string, PaymentStore.StoredPayment>()
  return {
    look: (process) => {
      for (const record of all(watched.records)) {
        const before = known.get(record.paymentId)
        if (before === record) continue
        known.set(record.paymentId, record)
        tell(watched, before, record)
        if (before?.answerOwed === true && !record.answerOwed && isOver(record))
          watched.debtTaken(record.paymentId, process)
        if (record.execution.holder === undefined) watched.granted.delete(record.paymentId)
        const violation = before?.status === record.status ? undefined : judge(watched, before, record)
        if (violation !== undefined) return violation
      }
      return undefined
    }
  }
}

/** It has an end that can be told, or had one that a reorganisation took back. */
const isOver = ({ history, status }: PaymentStore.StoredPayment): boolean =>
  Settlement.isDead(status) || history.some((one) => Settlement.isSettled(one.status))

/**
 * Whether what is on its way for the payer of this payment, and what handlers run for on its word, is more than it has. Where a
 * reorganisation takes transfers back, or a node does not know of them yet, it may be.
 */
export const overdrawn = (
  { chain, granted, isCertain, now, records }: Watched,
  { authorization: { payer } }: PaymentStore.StoredPayment
): Violation | undefined => {
  if (!isCertain) return undefined
  const promised = all(records)
    .filter(
      (one) =>
        one.authorization.payer === payer &&
        (PaymentChange.isPending(one) || (granted.has(one.paymentId) && PaymentStore.reserves(one, now()))) &&
        chain.truth.transferOf(chain.keyOf(one.authorization)) === undefined
    )
    .reduce((sum, one) => sum + one.authorization.amount, 0n)
  const balance = chain.truth.balanceOf(payer)
  if (promised <= balance) return undefined
  return { invariant: "content-for-money", words: `${payer} has ${balance}, and ${promised} of it are promised` }
}

/** More payments than any simulation has. */
const most = 10_000

/** All records. */
export const all = ({ disk, read }: SimulatedRecords): ReadonlyArray<PaymentStore.StoredPayment> =>
  read(disk.page(0n, most))

const tell = (
  { changed }: Watched,
  before: PaymentStore.StoredPayment | undefined,
  { laneNumber, history, lane, paymentId, execution: run, status, transaction }: PaymentStore.StoredPayment
): void => {
  const note = history.at(-1)?.note
  if (before?.status !== status || before.lane !== lane || before.laneNumber !== laneNumber) {
    const place =
      lane === undefined ? "in no lane" : `${lane}${laneNumber === undefined ? "" : ` number ${laneNumber}`}`
    changed(
      `record ${paymentId.slice(0, 10)} is ${status} (${place}) ${transaction}${note === undefined ? "" : ` "${note}"`}`
    )
  } else if (before.execution !== run) {
    changed(`record ${paymentId.slice(0, 10)}: run ${run.served ? "served" : (run.holder?.claimId ?? "free")}`)
  }
}

const judge = (
  { chain }: Watched,
  before: PaymentStore.StoredPayment | undefined,
  record: PaymentStore.StoredPayment
): Violation | undefined => {
  const { truth } = chain
  const key = chain.keyOf(record.authorization)
  const { paymentId, status } = record
  const name = paymentId.slice(0, 10)
  if (before?.status === "final") {
    return { invariant: "proven-by-transfer", words: `${name} was final and is ${status}` }
  }
  if (Settlement.isSettled(status)) return judgeSettled(truth, key, record)
  return Settlement.isDead(status) ? judgeDead(truth, key, before, record) : undefined
}

/**
 * Whether a transfer counts for nothing here: a stranger has sent it, perhaps before it came here, and the payment is not bound to
 * a request, so that it may have bought something elsewhere; or no buyer has requested it since it was taken in, or ever.
 */
export const isForNothing = (
  { isStrangers }: TrueTransfer,
  record: Pick<PaymentStore.StoredPayment, "authorization" | "lane" | "status"> | undefined
): boolean =>
  isStrangers &&
  (record === undefined ||
    record.authorization.binding === undefined ||
    (record.status === "accepted" && record.lane === undefined))

const judgeSettled = (
  truth: ChainTruth,
  key: string,
  { block, paymentId, status }: PaymentStore.StoredPayment
): Violation | undefined => {
  const name = paymentId.slice(0, 10)
  if (block === undefined || !truth.wasShown(key, block)) {
    return { invariant: "proven-by-transfer", words: `${name} is ${status} by a block that never held its transfer` }
  }
  if (status !== "final") return undefined
  const transfer = truth.transferOf(key)
  if (transfer === undefined || transfer.block.number > truth.final().number) {
    return { invariant: "proven-by-transfer", words: `${name} is final, and its transfer is not` }
  }
  return undefined
}

const judgeDead = (
  truth: ChainTruth,
  key: string,
  before: PaymentStore.StoredPayment | undefined,
  record: PaymentStore.StoredPayment
): Violation | undefined => {
  const { authorization, paymentId, since, status } = record
  const name = paymentId.slice(0, 10)
  const transfer = truth.transferOf(key)
  if (transfer !== undefined && !isForNothing(transfer, record)) {
    return {
      invariant: "unknown-is-no-end",
      words: `${name} is ${status}, and block ${transfer.block.number} holds its transfer`
    }
  }
  const wasSent = since !== undefined
  if (status === "rejected" && wasSent) {
    return {
      invariant: "unknown-is-no-end",
      words: `${name} is rejected, though its bytes were signed and may be sent`
    }
  }
  if (status === "failed" && wasSent && truth.final().time < authorization.validBefore && !truth.mayHaveFailed(key)) {
    return {
      invariant: "unknown-is-no-end",
      words: `${name} (${before?.status}) is failed, and no transaction that carried it has failed`
    }
  }
  if (status === "expired" && wasSent && truth.final().time < authorization.validBefore) {
    const words = `${name} (${before?.status}) is expired, and the final block is of ${authorization.validBefore - truth.final().time} s before its end`
    return { invariant: "unknown-is-no-end", words }
  }
  return undefined
}
