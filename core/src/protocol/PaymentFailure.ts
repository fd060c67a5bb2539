/**
 * Everything that can go wrong when a payment is asked about: the payer's means, the payment's form, or the world around
 * it. The three types never stand in for one another.
 */
import type { PaymentError } from "./PaymentError.ts"
import type { ProtocolError } from "./ProtocolError.ts"
import type { ValidationError } from "./ValidationError.ts"

/** The union that facilitators fail with and servers answer for. */
export type PaymentFailure = PaymentError | ValidationError | ProtocolError
