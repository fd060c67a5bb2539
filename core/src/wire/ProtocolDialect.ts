/**
 * Our own wire format, version 2 (specification 4.2 and 4.3): `X-Payment` is one line of ASCII JSON in both directions,
 * `X-Payment-Response` is the receipt.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { Settlement } from "../protocol/Settlement.ts"
import { invalid } from "../protocol/ValidationError.ts"
import * as AsciiJson from "./AsciiJson.ts"
import type { Dialect } from "./Dialect.ts"

const decodeRequired = Schema.decodeUnknownResult(PaymentRequired)
const decodeSettlement = Schema.decodeUnknownResult(Settlement)
/**
 * The dialect.
 *
 * @category constants
 */
export const protocolDialect: Dialect = {
  paymentHeader: "x-payment",
  isRefusal: (status, header) => (status === 402 || status === 409 || status === 503) && header("x-payment") !== null,
  readRefusal: (body) =>
    Result.mapError(decodeRequired(body), (error) =>
      invalid("malformed", "payment_required", `the server's refusal is no payment request: ${error.message}`)
    ),
  paymentHeaders: (payload) => ({ "X-Payment": AsciiJson.encode(payload) }),
  readReceipt: (header) => {
    const text = header("x-payment-response")
    if (text === null) return undefined
    return Result.getOrUndefined(Result.flatMap(AsciiJson.decode(text), decodeSettlement))
  }
}
