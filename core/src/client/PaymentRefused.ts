/**
 * The server's no in words that are none of the protocol's: it was shown a payment and refused it without one of the five
 * codes or a reason, as a server that knows only `error` and `accepts` does.
 */
import * as Data from "effect/Data"

/**
 * The payment was refused. `message` carries what the server said; `paymentId` names the authorization, which the journal
 * keeps and sends again until its validity has ended.
 */
export class PaymentRefused extends Data.TaggedError("PaymentRefused")<{
  readonly paymentId: string
  readonly message: string
}> {}
