/** Reads the requirements of x402, in both versions, from a server's JSON. */
import * as Shape from "../../protocol/Shape.ts"
import { amount, network } from "../pontage/RefusalShape.ts"
import type { OfferV1, OfferV2, ResourceV2 } from "./X402Offer.ts"

const maybeText = /* @__PURE__ */ Shape.nullable(Shape.text)
const extra = /* @__PURE__ */ Shape.nullable(Shape.object)

/** Positive and finite; peers give no upper bound. */
const seconds = /* @__PURE__ */ Shape.guarded(
  "a positive number of seconds",
  (value): value is number => typeof value === "number" && Number.isFinite(value) && value > 0
)

/** Requirements of version 2. */
export const offerV2 = /* @__PURE__ */ Shape.struct<OfferV2>({
  scheme: Shape.text,
  network,
  amount,
  asset: Shape.text,
  payTo: Shape.text,
  maxTimeoutSeconds: seconds,
  extra
})

/** The resource of an offer of version 2. */
export const resourceV2 = /* @__PURE__ */ Shape.struct<ResourceV2>({
  url: Shape.text,
  description: maybeText,
  mimeType: maybeText
})

/** Requirements of version 1. */
export const offerV1 = /* @__PURE__ */ Shape.struct<OfferV1>({
  scheme: Shape.text,
  network: Shape.text,
  maxAmountRequired: amount,
  resource: Shape.text,
  description: /* @__PURE__ */ Shape.optional(Shape.text),
  mimeType: /* @__PURE__ */ Shape.optional(Shape.text),
  payTo: Shape.text,
  maxTimeoutSeconds: seconds,
  asset: Shape.text,
  extra
})
