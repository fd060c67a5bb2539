/**
 * A signed receipt as a payer reads it on a response. A shop's mistake in it loses only this part: the response stays paid for.
 */
import * as Shape from "../../protocol/Shape.ts"
import type { PurchaseReceipt, PurchaseStatement } from "./PurchaseReceipt.ts"

const strict = /* @__PURE__ */ Shape.struct<PurchaseReceipt>({
  format: /* @__PURE__ */ Shape.oneOf(["pontage-eip712"]),
  payload: /* @__PURE__ */ Shape.struct<PurchaseStatement>({
    version: /* @__PURE__ */ Shape.oneOf([1]),
    method: Shape.text,
    resourceUrl: Shape.text,
    payer: Shape.text,
    payTo: Shape.text,
    network: Shape.text,
    asset: Shape.text,
    amount: Shape.text,
    transaction: Shape.text,
    paymentId: Shape.text,
    issuedAt: Shape.int,
    responseStatus: Shape.int,
    responseSha256: Shape.text
  }),
  signature: Shape.text
})

/** The shape; a malformed value reads as `undefined`. */
export const purchaseReceipt: Shape.Shape<PurchaseReceipt | undefined> = {
  read: (value) => {
    const read = strict.read(value)
    return read instanceof Shape.Fault ? undefined : read
  }
}

const memberOf = (value: unknown, name: string): unknown => (Shape.isObject(value) ? value[name] : undefined)

/** The receipt in the extensions of a response of x402. */
export const inExtensions: Shape.Shape<PurchaseReceipt | undefined> = {
  read: (value) => purchaseReceipt.read(memberOf(memberOf(memberOf(value, "pontage-receipt"), "info"), "receipt"))
}
