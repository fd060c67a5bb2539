/**
 * The failures of a request about a payment: the payer's means, the payment's form, or the services around it. The three
 * types never stand in for one another.
 */
import type { PaymentError } from "./PaymentError.ts"
import type { ProtocolError } from "./ProtocolError.ts"
import type { ValidationError } from "./ValidationError.ts"

/** The failures of a facilitator, which servers translate into responses. */
export type PaymentFailure = PaymentError | ValidationError | ProtocolError
