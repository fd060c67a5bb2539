/**
 * Which transfers count as a payment's own. A chain that shows a payment's transfer shows it to everybody and for ever: to
 * the process that has sold for it, and to one that has lost its records since. So a transfer counts only from a point
 * on at which the payment was known to be unused.
 *
 * - After the block `since`, the head when a transaction was first prepared for it: for every payment.
 * - From the time `earliest` on, for a bound payment: its record was made then, after the chain had shown it unused. Before
 *   that block `since` but not before that time, somebody else has brought it to the chain while it was taken in; the payee
 *   has the money, and only who knows the salt can present it.
 *
 * A payment that was served before cannot be granted again by this. While its record is kept, the record answers. Where the
 * records were lost, the chain answers at verification that it is used. A node that lags may not know that yet; but what was
 * served before the loss is in a block that is older than the process which began after it, and `earliest` is never before
 * that process began. That a bound payment's nonce did not exist before its challenge says nothing here: a payment that was
 * served and lost is of the same age.
 *
 * An unbound payment has no such second bound: who has its bytes may present it anywhere, so its transfer by somebody else
 * grants nothing in any case (apps/docs/protocol.md#d21-transfers-by-others). Of one for which nothing was prepared here the transfer is shown from `earliest` on all the same:
 * the money has moved, and who is told that it has not pays again.
 */
import type { Block, ObservedPayment } from "./SchemeFacilitator.ts"

/** A block whose time is known: Unix seconds, by the chain's clock. */
export interface TimedBlock extends Pick<Block, "number"> {
  readonly time: number
}

/** Whether the payment's transfer in this block is its own. */
export const isOwn = (
  {
    earliest,
    payment,
    since,
    unprepared
  }: Pick<ObservedPayment, "earliest" | "since" | "unprepared"> & {
    readonly payment: { readonly authorization: Pick<ObservedPayment["payment"]["authorization"], "binding"> }
  },
  { number, time }: TimedBlock
): boolean =>
  number > since ||
  ((payment.authorization.binding !== undefined || unprepared === true) && earliest !== undefined && time >= earliest)
