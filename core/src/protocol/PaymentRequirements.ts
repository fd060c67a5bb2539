/**
 * What one payment option of a resource demands (specification 2.1). A resource offers several as `accepts`.
 */
import * as Schema from "effect/Schema"

import * as Amount from "./Amount.ts"
import { Network } from "./Network.ts"

/** Written out: `Schema.isBetween` would put half a kilobyte into a payer's bundle. */
const withinADay = Schema.makeFilter((seconds: number) => seconds >= 1 && seconds <= 86_400, {
  expected: "a number of seconds between 1 and 86400",
  toJsonSchema: () => ({ minimum: 1, maximum: 86_400 })
})

/**
 * One acceptable way to pay for a resource. `maxAmountRequired` is in the smallest unit of `asset`; with `exact` the
 * payment equals it. `maxTimeoutSeconds` bounds how long a signed authorization may be valid. `extra` is the scheme's.
 *
 * @category schemas
 */
export const PaymentRequirements = Schema.Struct({
  scheme: Schema.String,
  network: Network,
  maxAmountRequired: Amount.Text,
  resource: Schema.String,
  description: Schema.optionalKey(Schema.String),
  mimeType: Schema.optionalKey(Schema.String),
  payTo: Schema.String,
  maxTimeoutSeconds: Schema.optionalKey(Schema.Int.check(withinADay)),
  asset: Schema.optionalKey(Schema.String),
  extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})

/**
 * @category models
 */
export type PaymentRequirements = typeof PaymentRequirements.Type

/**
 * How long an authorization may be valid where the requirements do not say, in seconds.
 *
 * @category constants
 */
export const defaultMaxTimeoutSeconds = 60
