/** The delivery of a payment to another network, as the columns of its row. */
import { Amount, Delivery, PaymentRequirements, type PaymentStore, Settlement } from "@pontage/core"
import * as Schema from "effect/Schema"

import type { Columns, Value } from "../database/SqlDialect.ts"
import * as StockColumns from "./StockColumns.ts"

/** The columns of a delivery. */
export const delivering = {
  serial: "bigint",
  delivery: "text",
  delivering: "boolean",
  ...StockColumns.drawing
} as const satisfies Columns

const OrNull = Schema.NullOr

/** The text of the column. */
export const DeliveryJson = Schema.fromJsonString(
  Schema.Struct({
    network: Schema.String,
    status: Settlement.DeliveryStatus,
    arrival: OrNull(
      Schema.Struct({
        transaction: Schema.String,
        block: Schema.Struct({ number: Schema.BigIntFromString, hash: Schema.String }),
        amount: Amount.FromText
      })
    ),
    deliveredAt: OrNull(Schema.Int),
    detail: OrNull(Schema.String),
    push: OrNull(
      Schema.Struct({
        paymentId: Schema.String,
        attempt: Schema.Int,
        /** Where earlier pushes were never sent. */
        unsent: Schema.optionalKey(Schema.Int),
        /** Of pushes that are never signed twice. */
        kept: Schema.optionalKey(
          Schema.Struct({ requirements: PaymentRequirements.PaymentRequirements, payload: Schema.Json })
        )
      })
    ),
    final: Schema.Boolean,
    /** Of deliveries from an operator's own stock. */
    draw: Schema.optionalKey(
      Schema.Struct({
        stock: Schema.String,
        pair: Schema.String,
        amount: Amount.FromText,
        at: OrNull(Schema.Int),
        freedAt: OrNull(Schema.Int)
      })
    )
  })
)

const encode = Schema.encodeSync(DeliveryJson)

/** The delivery as the core defines it. */
export const toDelivery = ({ draw, ...row }: typeof DeliveryJson.Type): Delivery.Delivery => ({
  ...row,
  ...(draw && { draw: { ...draw, at: draw.at ?? undefined, freedAt: draw.freedAt ?? undefined } }),
  arrival: row.arrival ?? undefined,
  deliveredAt: row.deliveredAt ?? undefined,
  detail: row.detail ?? undefined,
  push: row.push ?? undefined
})

/** The values of `delivering`. */
export const toDelivering = (payment: PaymentStore.StoredPayment): Readonly<Record<keyof typeof delivering, Value>> => {
  const { delivery, serial } = payment
  return {
    serial,
    delivery: delivery === undefined ? null : encode(jsonOf(delivery)),
    delivering: Delivery.isOpen(payment),
    ...StockColumns.toDrawing(delivery?.draw)
  }
}

const jsonOf = ({ draw, push, ...delivery }: Delivery.Delivery): typeof DeliveryJson.Type => ({
  ...delivery,
  ...(draw && { draw: { ...draw, at: draw.at ?? null, freedAt: draw.freedAt ?? null } }),
  arrival: delivery.arrival ?? null,
  deliveredAt: delivery.deliveredAt ?? null,
  detail: delivery.detail ?? null,
  push: push === undefined ? null : pushOf(push)
})

const pushOf = ({ attempt, kept, paymentId, unsent }: Delivery.PushRecord) => ({
  paymentId,
  attempt,
  ...(unsent !== undefined && { unsent }),
  ...(kept && { kept })
})
