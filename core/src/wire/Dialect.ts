/**
 * A dialect: how the protocol's messages are laid into HTTP headers and bodies. The gate and the paying client speak
 * dialects and know no header names, so another wire format joins by adding one.
 */
import type * as Result from "effect/Result"

import type { PaymentPayload } from "../protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import type { Settlement } from "../protocol/Settlement.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"

/**
 * Request headers as a host gives them: one value, or several when the header came more than once.
 *
 * @category models
 */
export type ReadHeader = (name: string) => string | ReadonlyArray<string> | undefined

/**
 * Headers to be set on a message, by name.
 *
 * @category models
 */
export type HeaderFields = Readonly<Record<string, string>>

/**
 * One wire format.
 *
 * @category models
 */
export interface Dialect {
  /** The request header that carries a payment, lower case. */
  readonly paymentHeader: string
  /** Seller: the payment a request carries; `undefined` when it carries none. */
  readonly readPayment: (header: ReadHeader) => Result.Result<PaymentPayload, ValidationError> | undefined
  /** Seller: the headers of a refusal. */
  readonly refusalHeaders: (body: PaymentRequired) => HeaderFields
  /** Seller: the headers of a paid answer. */
  readonly receiptHeaders: (settlement: Settlement) => HeaderFields
  /** Payer: whether an answer with this status is a refusal of this dialect. */
  readonly isRefusal: (status: number, header: (name: string) => string | null) => boolean
  /** Payer: what a refusal says, from the parsed JSON of its body. */
  readonly readRefusal: (body: unknown) => Result.Result<PaymentRequired, ValidationError>
  /** Payer: the header that carries a payment. */
  readonly paymentHeaders: (payload: PaymentPayload) => HeaderFields
  /** Payer: the receipt on an answer, if there is one. */
  readonly readReceipt: (header: (name: string) => string | null) => Settlement | undefined
}
