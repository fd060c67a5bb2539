/**
 * What a facilitator can settle (`GET /supported`).
 */
import * as Schema from "effect/Schema"

import { protocolVersion } from "./PaymentPayload.ts"

/**
 * One (scheme, network) that is settled.
 *
 * @category schemas
 */
export const SupportedKind = Schema.Struct({
  protocolVersion: Schema.Literal(protocolVersion),
  scheme: Schema.String,
  network: Schema.String,
  extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})

/**
 * All kinds, and the addresses that send transactions, by network.
 *
 * @category schemas
 */
export const Supported = Schema.Struct({
  kinds: Schema.Array(SupportedKind),
  signers: Schema.Record(Schema.String, Schema.Array(Schema.String))
})

/**
 * @category models
 */
export type Supported = typeof Supported.Type
