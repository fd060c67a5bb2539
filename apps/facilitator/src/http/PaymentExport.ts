/**
 * Payments as they are handed out for audits and told by webhooks: the public record, and what lets a stranger find the
 * payment on the chain and see that none is missing.
 */
import { PaymentStore, Settlement } from "@pontage/core"
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
  /** The order in which records were made; never given twice. */
  serial: Count,
  /** The caller who brought it. */
  caller: Schema.String,
  scheme: Schema.String,
  nonce: Schema.String,
  /** Unix seconds. */
  validAfter: Schema.Int,
  /** Unix seconds. */
  validBefore: Schema.Int,
  /** Where the money moved; absent while it has not. */
  block: Schema.optionalKey(Schema.Struct({ number: Count, hash: Schema.String }))
})

export type PaymentExport = typeof PaymentExport.Type

/**
 * One page. `next` is where the following page begins; absent when there was no more. A record's serial never changes,
 * its state may: who keeps books reads again what was not `final` or dead.
 */
export const PaymentPage = Schema.Struct({ payments: Schema.Array(PaymentExport), next: Schema.optionalKey(Count) })

/** What is asked of a page: records after this serial, so many at most (default 100). */
export const PageQuery = {
  after: Schema.optionalKey(Serial),
  limit: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[0-9]{1,4}$/)).pipe(
      Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum: 1, maximum: 1000 })))
    )
  )
}

/** The payments on a page where it is not said how many. */
export const standardLimit = 100

/** The payment as it is handed out at this time (Unix milliseconds). */
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

/** A page of these payments, of which so many were asked for. */
export const toPage = (
  payments: ReadonlyArray<PaymentStore.StoredPayment>,
  limit: number,
  now: number
): typeof PaymentPage.Type => {
  const last = payments.at(-1)
  return {
    payments: payments.map((payment) => make(payment, now)),
    ...(last !== undefined && payments.length === limit && { next: `${last.serial}` })
  }
}
