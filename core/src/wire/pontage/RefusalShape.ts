/** Reads a refusal from a server's JSON (apps/docs/protocol.md#refusal). */
import * as Amount from "../../protocol/Amount.ts"
import * as Network from "../../protocol/Network.ts"
import { paymentErrorCodes } from "../../protocol/PaymentError.ts"
import { type PaymentRequired, retries } from "../../protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { paymentStates } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"
import { validationReasons } from "../../protocol/ValidationError.ts"

/** An amount in the smallest unit of an asset. */
export const amount = /* @__PURE__ */ Shape.guarded(
  Amount.expected,
  (value): value is string => typeof value === "string" && Amount.isText(value)
)

/** A network's CAIP-2 identifier. */
export const network = /* @__PURE__ */ Shape.guarded(Network.expected, Network.isNetwork)

const seconds = /* @__PURE__ */ Shape.guarded(
  "a whole number of seconds between 1 and 86400",
  (value): value is number => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 86_400
)

const maybeText = /* @__PURE__ */ Shape.optional(Shape.text)

const details = {
  code: /* @__PURE__ */ Shape.optional(/* @__PURE__ */ Shape.oneOf(paymentErrorCodes)),
  reason: /* @__PURE__ */ Shape.optional(/* @__PURE__ */ Shape.oneOf(validationReasons)),
  detail: maybeText,
  paymentId: maybeText,
  paymentState: /* @__PURE__ */ Shape.optional(/* @__PURE__ */ Shape.oneOf(paymentStates)),
  retry: /* @__PURE__ */ Shape.optional(/* @__PURE__ */ Shape.oneOf(retries))
}

/** The fields of a refusal without `error` and its offers. */
export type RefusalDetails = Omit<PaymentRequired, "error" | "accepts">

/** The shape of these fields. */
export const refusalDetails = /* @__PURE__ */ Shape.struct<RefusalDetails>(details)

/** The body of a refusal. */
export const paymentRequired = /* @__PURE__ */ Shape.struct<PaymentRequired>({
  error: Shape.text,
  accepts: /* @__PURE__ */ Shape.list(
    /* @__PURE__ */ Shape.struct<PaymentRequirements>({
      scheme: Shape.text,
      network,
      maxAmountRequired: amount,
      resource: Shape.text,
      description: maybeText,
      mimeType: maybeText,
      payTo: Shape.text,
      maxTimeoutSeconds: /* @__PURE__ */ Shape.optional(seconds),
      asset: maybeText,
      extra: /* @__PURE__ */ Shape.optional(Shape.object)
    })
  ),
  ...details
})
