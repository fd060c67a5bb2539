/**
 * Failures of payments that are not confirmed yet. The block of a transaction that did not move the money may be reorganised,
 * a node may have shown it wrongly, and while an authorization is valid anybody may still submit it; a buyer who hears of a
 * failure signs another payment and may pay twice. So a failure is reported only when its block is final, the authorization
 * has ended by then (used for something else, or past its validity), and a second observation, after a newer block, agrees.
 */
import type { Block, PaymentError, ChainHead, ValidationError } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmTransferEvidence from "./EvmTransferEvidence.ts"

/** A failure, as one observation shows it. */
export interface UnconfirmedFailure {
  readonly error: PaymentError | ValidationError
  readonly transaction: string
  /** The block that shows it. */
  readonly block: Block
  /** Whether the authorization is used or canceled: as long as the block stands, it cannot be submitted any more. */
  readonly isEnded: boolean
}

/**
 * A failure, the block of our transaction, and the heads of the chain at its first and its latest observation.
 */
export interface RememberedFailure {
  readonly failure: UnconfirmedFailure
  readonly block: Block
  readonly since: bigint
  lastObserved: bigint
}

/** The unconfirmed failures, by payment. */
export interface EvmUnconfirmedFailures {
  readonly find: (expected: EvmTransferEvidence.ExpectedTransfer) => RememberedFailure | undefined
  readonly remember: (
    expected: EvmTransferEvidence.ExpectedTransfer,
    block: Block,
    failure: UnconfirmedFailure,
    head: bigint
  ) => void
  readonly forget: (expected: EvmTransferEvidence.ExpectedTransfer) => void
}

/** The most failures kept; beyond it the oldest are dropped, and their confirmation begins anew, or lacks its reason. */
const capacity = 10_000

const keyOf = ({
  authorization: { from, nonce },
  operation,
  permit,
  token
}: EvmTransferEvidence.ExpectedTransfer): string =>
  `${operation?.hash ?? token} ${from} ${nonce}${permit === undefined ? "" : " permit"}`

/** Makes an empty memory. */
export const make = (): EvmUnconfirmedFailures => {
  const known = BoundedMap.oldestOut<string, RememberedFailure>(capacity)
  return {
    find: (expected) => known.get(keyOf(expected)),
    remember: (expected, block, failure, head) => {
      const key = keyOf(expected)
      known.set(key, { failure, block, since: head, lastObserved: head })
    },
    forget: (expected) => void known.delete(keyOf(expected))
  }
}

/** The result of a confirmed failure: the payment has failed, or only our transaction has, and another one is to carry the payment. */
export type ConfirmedEnd = "failed" | "unmoved"

/**
 * The result of the failure if it is observed again now; `undefined` while it is not confirmed. `final` is the newest final block. The
 * authorization of a payment that is submitted again (`isRepeated`) need not end first: no other one is signed in its place.
 */
export const confirmedAs = (
  { failure: { block, isEnded }, since }: RememberedFailure,
  { head }: ChainHead,
  final: EvmRpc.Block,
  { authorization: { validBefore } }: EvmTransferEvidence.ExpectedTransfer,
  isRepeated: boolean
): ConfirmedEnd | undefined => {
  if (head.number <= since || block.number > final.number) return undefined
  if (isEnded || final.timestamp >= validBefore) return "failed"
  return isRepeated ? "unmoved" : undefined
}

/** Whether two observations show the same failure. */
export const isSame = (a: UnconfirmedFailure, b: UnconfirmedFailure): boolean =>
  a.transaction === b.transaction &&
  a.block.hash === b.block.hash &&
  a.isEnded === b.isEnded &&
  a.error.detail === b.error.detail
