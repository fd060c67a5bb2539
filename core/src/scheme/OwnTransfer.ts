/**
 * Decides which transfers count as a payment's own. A chain shows a payment's transfer to every reader and for ever: to the process that
 * has sold for it, and to one that has lost its records since. So a transfer counts only from a point on at which the payment was
 * known to be unused.
 *
 * - After the block `since`, the head when a transaction was first prepared for it: for every payment.
 * - From the time `earliest` on, for a bound payment: its record was made then, after the chain had shown it unused. A transfer up to
 *   the block `since` but not before that time was sent by a third party during the intake; the payee has the money, and only the
 *   holder of the salt can present the payment.
 *
 * A payment that was served before cannot be granted again by this. While its record is kept, the record decides. If the records were
 * lost, the chain shows at verification that it is used. A node that lags may not show that yet; but a payment that was served before
 * the loss is in a block that is older than the process which began after it, and `earliest` is never before that process began. The
 * fact that a bound payment's nonce did not exist before its challenge says nothing here: a payment that was served and lost is of
 * the same age.
 *
 * An unbound payment has no such second bound: every holder of its bytes may present it anywhere, so its transfer by a third party
 * grants nothing in any case (apps/docs/protocol.md#d21-transfers-by-others). If nothing was prepared here for an unbound payment, its
 * transfer still counts from `earliest` on: the money has moved, and a payer that learns otherwise pays again. So does its transfer by
 * a signer of this facilitator, in whatever block: a reorganisation may put our own transaction below the head at which it was
 * prepared. The signer of the payment's lane is one of them even if it is not configured any more. And so does the transfer of a payment that was settled as its own before a reorganisation, which is the rule for families
 * whose chain does not name who has sent a payer's transaction.
 */
import type { Block, ObservedPayment } from "./SchemeFacilitator.ts"

/** A block whose time is known: Unix seconds, by the chain's clock. */
export interface TimedBlock extends Pick<Block, "number"> {
  readonly time: number
}

/** Whether the payment's transfer in this block is its own; `byUs` if a signer of this facilitator has sent it. */
export const isOwn = (
  {
    earliest,
    payment,
    settledBefore,
    since,
    unprepared
  }: Pick<ObservedPayment, "earliest" | "since" | "unprepared" | "settledBefore"> & {
    readonly payment: { readonly authorization: Pick<ObservedPayment["payment"]["authorization"], "binding"> }
  },
  { number, time }: TimedBlock,
  byUs = false
): boolean =>
  number > since ||
  ((payment.authorization.binding !== undefined || unprepared === true || settledBefore === true || byUs) &&
    isSince({ earliest }, time))

/** Whether this account is a signer of this facilitator: one that is configured, or that of the payment's lane. */
export const isSigner = <Address extends string>(
  { lane }: Pick<ObservedPayment, "lane">,
  signers: { readonly has: (address: Address) => boolean },
  sender: Address
): boolean => sender === lane || signers.has(sender)

/** Whether a block of this time (Unix seconds) is not older than the payment's record. */
export const isSince = ({ earliest }: { readonly earliest?: number | undefined }, time: number): boolean =>
  earliest !== undefined && time >= earliest
