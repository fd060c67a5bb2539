/**
 * The terms of one payment option of a resource (apps/docs/protocol.md#offer). A resource offers several as `accepts`.
 */
import * as Schema from "effect/Schema"

import * as Amount from "./Amount.ts"
import { Network } from "./Network.ts"

const withinADay = /* @__PURE__ */ Schema.isBetween({ minimum: 1, maximum: 86_400 })

/**
 * One acceptable way to pay for a resource. `maxAmountRequired` is in the smallest unit of `asset`; with `exact` the
 * payment equals it. `maxTimeoutSeconds` bounds how long a signed authorization may be valid. `extra` is the scheme's.
 */
export const PaymentRequirements = /* @__PURE__ */ Schema.Struct({
  scheme: Schema.String,
  network: Network,
  maxAmountRequired: Amount.Text,
  resource: Schema.String,
  description: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  mimeType: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  payTo: Schema.String,
  maxTimeoutSeconds: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.Int.check(withinADay)),
  asset: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  extra: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.Record(Schema.String, Schema.Json))
})

export type PaymentRequirements = typeof PaymentRequirements.Type

/** Default limit on the validity of an authorization, in seconds, for requirements without `maxTimeoutSeconds`. */
export const defaultMaxTimeoutSeconds = 60
