/**
 * Payments for audits and webhooks: the public record, and the fields by which an auditor finds the payment on the chain and
 * sees that none is missing.
 */
import { Delivery, PaymentStore, Settlement } from "@pontage/core"
import * as Schema from "effect/Schema"

/** An unsigned integer as a decimal text: it may be larger than a JSON number holds exactly. */
const Count = Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,29})$/))

/** The largest serial that the stores count to. */
const lastSerial = 2n ** 63n - 1n
const Serial = Count.check(
  Schema.makeFilter((text: string) => BigInt(text) <= lastSerial, { expected: `a serial of at most ${lastSerial}` })
)

/** One payment. `(network, asset, payer, nonce)` is what the chain consumes once. */
export const PaymentExport = Schema.Struct({
  ...Settlement.PaymentRecord.fields,
  /** Position in the order of the records' creation; unique. */
  serial: Count,
  /** Caller who presented the payment. */
  caller: Schema.String,
  scheme: Schema.String,
  nonce: Schema.String,
  /** Unix seconds. */
  validAfter: Schema.Int,
  /** Unix seconds. */
  validBefore: Schema.Int,
  /** Block of the transfer; absent before it. */
  block: Schema.optionalKey(Schema.Struct({ number: Count, hash: Schema.String }))
})

export type PaymentExport = typeof PaymentExport.Type

/**
 * One page. `next` is the start of the following page; absent on the last. A record's serial never changes, its state may: an
 * auditor reads those again that were neither `final` nor dead.
 */
export const PaymentPage = Schema.Struct({ payments: Schema.Array(PaymentExport), next: Schema.optionalKey(Count) })

/** Query of a page: the serial after which it begins, and its largest size (default 100). */
export const PageQuery = {
  after: Schema.optionalKey(Serial),
  limit: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[0-9]{1,4}$/)).pipe(
      Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum: 1, maximum: 1000 })))
    )
  )
}

/** Default size of a page. */
export const standardLimit = 100

/** The export of a payment at this time (Unix milliseconds). */
export const make = (payment: PaymentStore.StoredPayment, now: number): PaymentExport => {
  const { authorization, block, caller, requirements, serial } = payment
  return {
    ...PaymentStore.toRecord(payment, now),
    serial: `${serial}`,
    caller,
    scheme: requirements.scheme,
    nonce: authorization.nonce,
    validAfter: authorization.validAfter,
    validBefore: authorization.validBefore,
    ...(block !== undefined && { block: { number: `${block.number}`, hash: block.hash } })
  }
}

/** A page of these records, without pushes; `limit` is the size that was requested. */
export const toPage = (
  payments: ReadonlyArray<PaymentStore.StoredPayment>,
  limit: number,
  now: number
): typeof PaymentPage.Type => {
  const last = payments.at(-1)
  // A push moves the money of a payment that is exported itself, with its delivery.
  const own = payments.filter(({ requirements }) => !Delivery.isPush(requirements))
  return {
    payments: own.map((payment) => make(payment, now)),
    ...(last !== undefined && payments.length === limit && { next: `${last.serial}` })
  }
}
