/**
 * What a webhook says: that a payment has reached an end, and all that is on record of it. It is sent at least once; `id`
 * is the same every time.
 */
import type { PaymentStore } from "@pontage/core"
import * as Schema from "effect/Schema"

import * as PaymentExport from "../http/PaymentExport.ts"

/**
 * The body. `status` is the state that this webhook tells of, and `at` when it was reached (Unix milliseconds); the payment
 * may have gone on since, as its history shows.
 */
export const WebhookBody = Schema.Struct({
  id: Schema.String,
  at: Schema.Int,
  ...PaymentExport.PaymentExport.fields
})

const encode = Schema.encodeUnknownSync(Schema.fromJsonString(WebhookBody))

/** The text that tells of a notice. */
export const fromNotice = ({ at, id, payment, status }: PaymentStore.Notice, now: number): string =>
  encode({ ...PaymentExport.make(payment, now), id, at, status })
