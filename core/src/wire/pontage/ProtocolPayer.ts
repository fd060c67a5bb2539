/** The payer's dialect of Pontage's own wire format, version 2 (apps/docs/protocol.md#payment). */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import { sealPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import * as AsciiJson from "../http/AsciiJson.ts"
import type { HeaderFields, PayerDialect } from "./Dialect.ts"
import { ifRefused } from "./IfRefusedShape.ts"
import type { PurchaseReceipt } from "./PurchaseReceipt.ts"
import { purchaseReceipt } from "./PurchaseReceiptShape.ts"
import { amount, paymentRequired } from "./RefusalShape.ts"

/** A complete receipt. */
export const settlement = /* @__PURE__ */ Shape.struct<Settlement>({
  success: /* @__PURE__ */ Shape.oneOf([true]),
  transaction: Shape.text,
  network: Shape.text,
  payer: Shape.text,
  amount,
  paymentId: Shape.text,
  ifRefused,
  extra: /* @__PURE__ */ Shape.optional(Shape.object)
})

const signedShape = /* @__PURE__ */ Shape.struct<{ readonly signedReceipt?: PurchaseReceipt }>({
  signedReceipt: purchaseReceipt
})

const pay = ({ accepts }: PaymentRequired, index: number, payload: Schema.Json): HeaderFields => {
  const option = accepts[index]
  return option === undefined
    ? {}
    : { "X-Payment": AsciiJson.encode(sealPayload(option.scheme, option.network, payload)) }
}

/** The dialect. */
export const protocolPayer: PayerDialect = {
  paymentHeader: "X-Payment",
  isKnownByHead: true,
  mayRefuse: ({ header, status }) =>
    (status === 402 || status === 409 || status === 503) && header("x-payment") !== null,
  readRefusal: (_head, body) =>
    Result.mapBoth(Shape.read(paymentRequired, body), {
      onSuccess: (required) => ({
        required,
        paymentHeaders: (index, payload) => pay(required, index, payload)
      }),
      onFailure: (fault) =>
        invalid("malformed", "payment_required", `the server's refusal is not a payment request: ${fault}`)
    }),
  readReceipt: (header) => {
    const text = header("x-payment-response")
    if (text === null) return undefined
    const json = AsciiJson.decode(text)
    const receipt = Result.getOrUndefined(Result.flatMap(json, (value) => Shape.read(settlement, value)))
    const beside = signedShape.read(Result.getOrUndefined(json))
    const signed = beside instanceof Shape.Fault ? undefined : beside.signedReceipt
    return receipt && { ...receipt, ...(signed && { signed }) }
  }
}
