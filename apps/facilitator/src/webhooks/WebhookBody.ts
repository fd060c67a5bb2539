/**
 * Body of a webhook: the end that a payment has reached, and its record. It is sent at least once, with the same `id` every
 * time.
 */
import { PaymentStore, Settlement } from "@pontage/core"
import * as Schema from "effect/Schema"

import * as PaymentExport from "../http/PaymentExport.ts"

/**
 * The body. `status` is the state that this webhook reports, with `delivered` for the delivery to another network, and `at` the time it was reached (Unix milliseconds); the
 * payment's state may have changed since, as its history shows.
 */
export const WebhookBody = Schema.Struct({
  id: Schema.String,
  at: Schema.Int,
  ...PaymentExport.PaymentExport.fields,
  status: Schema.Union([Settlement.PaymentState, Schema.Literal(PaymentStore.deliveredNotice)])
})

const encode = Schema.encodeUnknownSync(Schema.fromJsonString(WebhookBody))

/** The body of a notice as JSON text. */
export const fromNotice = ({ at, id, payment, status }: PaymentStore.Notice, now: number): string =>
  encode({ ...PaymentExport.make(payment, now), id, at, status })
