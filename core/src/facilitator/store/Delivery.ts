/**
 * The delivery of a payment whose money goes on to another network, as pure functions that every store shares. The other chain decides:
 * a delivery that it shows counts, whichever party made it, and one that it does not show any more is pending again.
 */
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import {
  type Delivery as PublicDelivery,
  type DeliveryStatus,
  isDead,
  type PaymentState
} from "../../protocol/Settlement.ts"
import type { Push, StockDraw } from "../../scheme/Onward.ts"
import type { Block } from "../../scheme/Payment.ts"

/** A delivery on record. Times are Unix milliseconds. */
export interface Delivery {
  /** The network that the money goes on to. */
  readonly network: string
  readonly status: DeliveryStatus
  /** The transaction, its block, and the amount that arrived; only while it is delivered. */
  readonly arrival: Arrival | undefined
  /** The time when the other chain first showed it. A reorganisation there keeps it: its caller was notified. */
  readonly deliveredAt: number | undefined
  /** The reason why it has not arrived, for people. */
  readonly detail: string | undefined
  /** The last push of this facilitator: a payment on the other network, and its number, from 1. */
  readonly push: PushRecord | undefined
  /** It is delivered for good: its block is not reorganised any more. */
  readonly final: boolean
  /** The operator's own money that it is paid from; absent if a bridge holds the money. */
  readonly draw?: RecordedDraw | undefined
}

/** A draw on an operator's stock. Times are Unix milliseconds. */
export interface RecordedDraw extends StockDraw {
  /** The time when the record was made; `undefined` before. */
  readonly at: number | undefined
  /** The time when it was paid for good: from then on the stock's balance lacks its amount. */
  readonly freedAt: number | undefined
}

/** The money at its recipient. */
export interface Arrival {
  readonly transaction: string
  readonly block: Block
  readonly amount: bigint
}

/** A push on record. */
export interface PushRecord {
  readonly paymentId: string
  readonly attempt: number
  /** The number of earlier pushes that were never sent. Absent if there were none. */
  readonly unsent?: number | undefined
  /** The push itself, where another signing would be another payment (`Push.once`). */
  readonly kept?: Pick<Push, "requirements" | "payload"> | undefined
}

/** A fact about a delivery, to be recorded. */
export type DeliveryReport =
  | { readonly _tag: "Delivered"; readonly arrival: Arrival; readonly final: boolean }
  | {
      readonly _tag: "Undelivered"
      readonly status: Exclude<DeliveryStatus, "delivered">
      readonly detail: string
      /** The last push; absent if it is the one on record. */
      readonly push?: PushRecord
    }

/** The delivery of a new payment to this network, from the operator's own stock if there is a draw. */
export const begin = (network: string, draw?: StockDraw): Delivery => ({
  network,
  status: "pending",
  arrival: undefined,
  deliveredAt: undefined,
  detail: undefined,
  push: undefined,
  final: false,
  ...(draw && { draw: { ...draw, at: undefined, freedAt: undefined } })
})

/** The delivery in a record that is made now. */
export const recorded = (delivery: Delivery, now: number): Delivery =>
  delivery.draw === undefined ? delivery : { ...delivery, draw: { ...delivery.draw, at: now } }

/** The part of a payment's record that is about its delivery. */
export interface Delivered {
  /** Absent if the money stays on its network. */
  readonly delivery?: Delivery | undefined
}

/**
 * The record after a report. It is the same one if the report says nothing new, if the delivery is over, or if the report is about an earlier
 * push. Of any number of pushes of one number that are kept, the first is recorded.
 */
export const reported = <Of extends Delivered>(known: Of, report: DeliveryReport, now: number): Of => {
  const { delivery } = known
  if (delivery === undefined || delivery.final || !isInOrder(delivery, report)) return known
  const next = report._tag === "Delivered" ? arrived(delivery, report, now) : missing(delivery, report)
  return isSame(delivery, next) ? known : { ...known, delivery: next }
}

/**
 * Whether a report is about the push on record or a later one. A process that stood still may report a push that another one has followed:
 * its number would be given twice, and the bytes of the push on record would be lost. A kept push has to be the next one of a delivery
 * that has not arrived.
 */
const isInOrder = ({ push: last, status }: Delivery, report: DeliveryReport): boolean => {
  if (report._tag === "Delivered" || report.push === undefined) return true
  const { attempt, kept, paymentId } = report.push
  if (kept !== undefined) return status !== "delivered" && attempt === (last?.attempt ?? 0) + 1
  if (last === undefined || attempt > last.attempt) return true
  return attempt === last.attempt && (paymentId === last.paymentId || last.kept === undefined)
}

const arrived = (
  delivery: Delivery,
  { arrival, final }: DeliveryReport & { readonly _tag: "Delivered" },
  now: number
): Delivery => ({
  ...delivery,
  status: "delivered",
  arrival,
  detail: undefined,
  deliveredAt: delivery.deliveredAt ?? now,
  final,
  ...(final && delivery.draw && { draw: { ...delivery.draw, freedAt: now } })
})

const missing = (
  delivery: Delivery,
  { detail, push, status }: DeliveryReport & { readonly _tag: "Undelivered" }
): Delivery => ({
  ...delivery,
  status,
  detail,
  arrival: undefined,
  push: push ? recordOf(push, delivery) : delivery.push
})

/** The record of a push. The bytes of one that is kept stay, whatever is reported about it: nothing else has them. */
const recordOf = (push: PushRecord, { push: last }: Delivery): PushRecord =>
  push.kept === undefined && push.paymentId === last?.paymentId && last.kept !== undefined
    ? { ...push, kept: last.kept }
    : push

/** Whether two deliveries say the same. */
export const isSame = (a: Delivery, b: Delivery): boolean =>
  a.status === b.status &&
  a.detail === b.detail &&
  a.final === b.final &&
  a.push?.paymentId === b.push?.paymentId &&
  a.arrival?.transaction === b.arrival?.transaction &&
  a.arrival?.block.hash === b.arrival?.block.hash &&
  a.arrival?.amount === b.arrival?.amount

/** Whether the delivery is still to be watched. */
export const isOpen = ({ delivery }: Delivered): boolean => delivery !== undefined && !delivery.final

/** The deliveries of payments whose money has moved, by network and state, as far as they are not over. */
export interface OpenDeliveries {
  /** The network of the payments, and the one that their money goes on to. */
  readonly from: string
  readonly to: string
  readonly status: DeliveryStatus
  readonly count: number
}

/** Counts open deliveries by their networks and states. */
export const countsOf = (open: ReadonlyArray<Omit<OpenDeliveries, "count">>): ReadonlyArray<OpenDeliveries> => {
  const counts = new Map<string, OpenDeliveries>()
  for (const { from, status, to } of open) {
    const key = JSON.stringify([from, to, status])
    counts.set(key, { from, to, status, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

/** Whether this change is the first delivery of a payment whose caller wants notices. */
export const isNews = (before: Delivered | undefined, after: Delivered & { readonly notify: boolean }): boolean =>
  after.notify && after.delivery?.deliveredAt !== undefined && before?.delivery?.deliveredAt === undefined

/** The delivery in the facilitator's API; `undefined` if the money did not leave and arrived nowhere. */
export const toPublic = ({
  delivery,
  status
}: Delivered & { readonly status: PaymentState }): PublicDelivery | undefined => {
  if (delivery === undefined || (isDead(status) && delivery.arrival === undefined)) return undefined
  const { arrival, detail, network, status: standing } = delivery
  return {
    network,
    status: standing,
    ...(arrival !== undefined && { transaction: arrival.transaction, amount: `${arrival.amount}` }),
    ...(detail !== undefined && { detail })
  }
}

/** The offer of a push names the payment that it delivers, so that a record tells that it is one. */
const marker = "delivers"

/** The offer of a push that delivers this payment. */
export const offerOfPush = (requirements: PaymentRequirements, paymentId: string): PaymentRequirements => ({
  ...requirements,
  extra: { ...requirements.extra, [marker]: paymentId }
})

/** Whether an offer is that of a push. The facilitator alone makes such payments: no caller can present one. */
export const isPush = ({ extra }: Pick<PaymentRequirements, "extra">): boolean =>
  extra !== undefined && Object.hasOwn(extra, marker)

/** The payment that an offer of a push delivers; `undefined` in any other offer. */
export const deliveredBy = (requirements: Pick<PaymentRequirements, "extra">): unknown =>
  isPush(requirements) ? requirements.extra?.[marker] : undefined
