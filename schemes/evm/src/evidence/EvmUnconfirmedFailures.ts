/**
 * What speaks against payments before it is beyond doubt. A transaction that did not move the money is in a block that may be
 * taken back, a node may have told it wrongly, and as long as an authorization is valid anybody may still submit it: who is
 * told of a failure signs another one and may pay twice. So a failure is told when the block is final and the authorization
 * has ended by then, used on something else or past its validity, and when a second look, after a newer block, shows the same.
 */
import type { Block, PaymentError, ChainHead, ValidationError } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmTransferEvidence from "./EvmTransferEvidence.ts"

/** What one look has found against a payment. */
export interface UnconfirmedFailure {
  readonly error: PaymentError | ValidationError
  readonly transaction: string
  /** The block that shows it. */
  readonly block: Block
  /** The authorization is used or taken back: nobody can submit it any more, as long as the block stands. */
  readonly isEnded: boolean
}

/**
 * A doubt, the block that our transaction is in, and the heads of the chain when it was first and last looked at.
 */
export interface RememberedFailure {
  readonly failure: UnconfirmedFailure
  readonly block: Block
  readonly since: bigint
  lookedAt: bigint
}

/** The doubts, by payment. */
export interface EvmUnconfirmedFailures {
  readonly find: (expected: EvmTransferEvidence.Expected) => RememberedFailure | undefined
  readonly remember: (
    expected: EvmTransferEvidence.Expected,
    block: Block,
    failure: UnconfirmedFailure,
    head: bigint
  ) => void
  readonly forget: (expected: EvmTransferEvidence.Expected) => void
}

/** So many are remembered; of those beyond it the oldest begin anew, or are told without their reason. */
const capacity = 10_000

const keyOf = ({ authorization: { from, nonce }, token }: EvmTransferEvidence.Expected): string =>
  `${token} ${from} ${nonce}`

/** Remembers nothing yet. */
export const make = (): EvmUnconfirmedFailures => {
  const known = BoundedMap.oldestOut<string, RememberedFailure>(capacity)
  return {
    find: (expected) => known.get(keyOf(expected)),
    remember: (expected, block, failure, head) => {
      const key = keyOf(expected)
      known.set(key, { failure, block, since: head, lookedAt: head })
    },
    forget: (expected) => void known.delete(keyOf(expected))
  }
}

/** Whether the same, seen again now, is beyond doubt. `final` is the block that is not reorganised any more. */
export const isConfirmed = (
  { failure: { block, isEnded }, since }: RememberedFailure,
  { head }: ChainHead,
  final: EvmRpc.Block,
  { authorization: { validBefore } }: EvmTransferEvidence.Expected
): boolean => head.number > since && block.number <= final.number && (isEnded || final.timestamp >= validBefore)

/** Whether two looks have found the same. */
export const isSame = (a: UnconfirmedFailure, b: UnconfirmedFailure): boolean =>
  a.transaction === b.transaction &&
  a.block.hash === b.block.hash &&
  a.isEnded === b.isEnded &&
  a.error.detail === b.error.detail
