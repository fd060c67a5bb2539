/**
 * A server's refusal outside the protocol: it received a payment and refused it without one of the five codes or a
 * reason, as a server that knows only `error` and `accepts` does.
 */
import * as Data from "effect/Data"

/**
 * The payment was refused. `message` contains the server's text; `paymentId` names the authorization, which the journal
 * keeps and sends again until it expires.
 */
export class PaymentRefused extends Data.TaggedError("PaymentRefused")<{
  readonly paymentId: string
  readonly message: string
}> {}
