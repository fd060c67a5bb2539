/**
 * The check that every presentation of a known payment passes: `/verify`, `/settle` and `/claims`, in this process or
 * over HTTP, with a claim or without. A payment on record answers only for its own offer, to the caller that presented
 * it, and to the payer that signed it. A shop that is shown another shop's payment, or a cheaper one, gets
 * `already_used` (apps/docs/protocol.md#d15-repeats).
 */
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { Scheme } from "../../scheme/Scheme.ts"
import * as Delivery from "./Delivery.ts"
import type { NewPayment, StoredPayment } from "./PaymentStore.ts"

/** One property that must agree between a presentation and the record. */
export type Term = (presented: NewPayment, known: NewPayment) => boolean

/**
 * The properties that must agree, by name.
 *
 * The transfer: a nonce may have been signed more than once, and a payment's id is a truncated hash. Only the transfer
 * on record is ever sent.
 *
 * The offer: scheme, network, asset and payee are compared with the record, because the money has gone to that payee.
 * Today's price is at most the recorded amount, because a price may depend on a body or a header that the payer did not
 * sign. Where the money goes on to another network, the price is compared with what arrives there: the fee of the way is
 * another one by then, and no part of a price. The caller is the one that presented the payment, because only its terms were checked.
 *
 * The delivery: the facilitator's own payment by which it delivers another one is public once it is sent. It pays for that one alone.
 *
 * The payer: the salt of a bound payment never reaches the chain. An unbound payment is public once it is sent; it is
 * compared as a whole, and by the token of its offer, if there was one.
 */
export const terms = {
  network: ({ requirements }, known) => requirements.network === known.requirements.network,
  signedAsset: ({ authorization }, known) => authorization.asset === known.authorization.asset,
  payer: ({ authorization }, known) => authorization.payer === known.authorization.payer,
  nonce: ({ authorization }, known) => authorization.nonce === known.authorization.nonce,
  signedPayee: ({ authorization }, known) => authorization.payTo === known.authorization.payTo,
  signedAmount: ({ authorization }, known) => authorization.amount === known.authorization.amount,
  validity: ({ authorization }, known) =>
    authorization.validAfter === known.authorization.validAfter &&
    authorization.validBefore === known.authorization.validBefore,

  scheme: ({ requirements }, known) => requirements.scheme === known.requirements.scheme,
  offeredAsset: ({ requirements }, known) => requirements.asset === known.authorization.asset,
  offeredPayee: ({ requirements }, known) => requirements.payTo === known.authorization.payTo,
  price: ({ authorization: { arrival }, requirements }, known) =>
    arrival === undefined
      ? BigInt(requirements.maxAmountRequired) <= known.authorization.amount
      : arrival.asked <= arrival.amount,
  caller: ({ caller }, known) => caller === known.caller,
  delivery: ({ requirements }, known) =>
    Delivery.deliveredBy(requirements) === Delivery.deliveredBy(known.requirements),

  salt: ({ authorization }, known) => authorization.binding?.salt === known.authorization.binding?.salt,
  payload: ({ payload }, known) =>
    known.authorization.binding !== undefined || JSON.stringify(payload) === JSON.stringify(known.payload),
  token: ({ requirements }, known) =>
    known.authorization.binding !== undefined ||
    RetryToken.of(requirements.extra) === RetryToken.of(known.requirements.extra)
} satisfies Record<string, Term>

const all: ReadonlyArray<Term> = Object.values(terms)

/** Whether a presentation matches the payment on record. Both have passed `canonical`. */
export const isOf = (presented: NewPayment, known: NewPayment): boolean =>
  all.every((agrees) => agrees(presented, known))

/**
 * An offer with its addresses in the family's wire form, so that they compare as text. An invalid address stays as it
 * came, and matches no record.
 */
export const canonical = (scheme: Scheme, requirements: PaymentRequirements): PaymentRequirements => {
  const { asset, payTo } = requirements
  return {
    ...requirements,
    payTo: scheme.address(payTo) ?? payTo,
    ...(asset !== undefined && { asset: scheme.address(asset) ?? asset })
  }
}

/**
 * The refusal of a presentation that does not match the record of its id. To another caller it names neither the record
 * nor its transaction.
 */
export const used = (known: StoredPayment, caller: string = known.caller): ValidationError =>
  caller === known.caller
    ? usedBy(known)
    : invalid("already_used", "used", "this authorization was used already; it pays for nothing else")

const usedBy = (known: StoredPayment): ValidationError =>
  invalid(
    "already_used",
    known.transaction === "" ? known.paymentId : known.transaction,
    `this authorization was used already (${known.paymentId}${known.transaction && `, transaction ${known.transaction}`}); it pays for nothing else`
  )
