/**
 * The laws about refusals: a scheme refuses every difference from the signed and offered terms, with the right reason,
 * before anything is sent and without moving money.
 */
import * as Effect from "effect/Effect"

import * as Network from "../../protocol/Network.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { holds, type Law, succeeds } from "../Law.ts"
import {
  gaining,
  law,
  pay,
  readPayment,
  refusing,
  requestOf,
  type SchemeSubject,
  settle,
  sign,
  type Subject,
  type Wish,
  withFacilitator
} from "./SchemeTrial.ts"
import * as Tampering from "./Tampering.ts"

type Words = ReadonlyArray<string>

/** An honest payment, presented for another offer. */
const offers: ReadonlyArray<readonly [string, Words, (subject: SchemeSubject) => Partial<PaymentRequirements>]> = [
  [
    "a payment to another recipient than the offer's is refused",
    ["INVALID_RECIPIENT"],
    ({ otherPayTo }) => ({ payTo: otherPayTo })
  ],
  [
    "a payment of less than the offer is refused",
    ["amount_mismatch"],
    (subject) => ({ maxAmountRequired: `${amountOf(subject) + 1n}` })
  ],
  [
    "a payment of more than the offer is refused",
    ["amount_mismatch"],
    (subject) => ({ maxAmountRequired: `${amountOf(subject) - 1n}` })
  ],
  [
    "a payment in another asset than the offer's is refused",
    ["asset_mismatch", "INVALID_SIGNATURE"],
    ({ otherAsset }) => ({ asset: otherAsset })
  ],
  [
    "a payment for an offer on another network is refused",
    ["NETWORK_MISMATCH"],
    ({ otherNetwork }) => ({ network: Network.make(otherNetwork) })
  ]
]

const amountOf = ({ requirements }: SchemeSubject) => BigInt(requirements.maxAmountRequired)

/** A payment whose signed terms differ from the offer. */
const signatures: ReadonlyArray<readonly [string, Words, (subject: SchemeSubject) => Wish]> = [
  ["an expired payment is refused", ["EXPIRED_PAYMENT"], () => ({ validFor: -10 })],
  ["a payment that is about to expire is refused", ["EXPIRED_PAYMENT"], () => ({ validFor: 3 })],
  [
    "a payment that is valid for longer than the offer allows is refused",
    ["unsupported_authorization"],
    () => ({ validFor: 3_600 })
  ],
  ["a payer who has not the money is refused", ["INSUFFICIENT_BALANCE"], ({ poor }) => ({ client: poor })]
]

const offered = (subject: SchemeSubject, name: string, words: Words, change: Partial<PaymentRequirements>) =>
  Effect.flatMap(pay(subject), (request) =>
    refusing(subject, name, words, { ...request, paymentRequirements: { ...subject.requirements, ...change } })
  )

const signedAs = (subject: SchemeSubject, name: string, words: Words, wish: Wish) =>
  Effect.flatMap(pay(subject, wish), (request) => refusing(subject, name, words, request))

const saysOtherNetwork = (subject: SchemeSubject) =>
  Effect.flatMap(pay(subject), ({ paymentPayload, paymentRequirements }) =>
    refusing(subject, "another network", ["NETWORK_MISMATCH"], {
      paymentPayload: { ...paymentPayload, network: subject.otherNetwork },
      paymentRequirements
    })
  )

/** The reasons allowed for a forgery: never a payment, and never a fault of the chain. */
const anyVerdict: Words = [
  "malformed",
  "binding_mismatch",
  "amount_mismatch",
  "asset_mismatch",
  "unsupported_authorization",
  "INVALID_SIGNATURE",
  "INVALID_RECIPIENT",
  "EXPIRED_PAYMENT",
  "INSUFFICIENT_BALANCE",
  "NETWORK_MISMATCH"
]

const tampered = Effect.fnUntraced(function* (subject: SchemeSubject) {
  const { signed } = yield* sign(subject, { bound: true })
  const forgeries = Tampering.all(signed.payload)
  yield* holds("there is something to tamper with", forgeries.length > 0)
  for (const { name, payload } of forgeries) {
    yield* refusing(subject, name, anyVerdict, requestOf(subject, payload))
  }
  const honest = withFacilitator(subject, (service) =>
    succeeds("the honest payment", settle(service, requestOf(subject, signed.payload)))
  )
  yield* gaining(subject, 1n, honest)
})

const notYetValid = Effect.fnUntraced(function* (subject: SchemeSubject) {
  const { signed } = yield* sign(subject, { validIn: 30 })
  const { authorization } = yield* readPayment(subject, signed.payload)
  if (authorization.validAfter === 0) return
  yield* refusing(subject, "a payment of tomorrow", ["EXPIRED_PAYMENT"], requestOf(subject, signed.payload))
})

/** The laws about refusals. */
export const refusals: ReadonlyArray<Law<Subject>> = [
  law("a payment with any field changed or left out is refused", tampered),
  ...offers.map(([name, words, change]) => law(name, (subject) => offered(subject, name, words, change(subject)))),
  law("a payment that says it is for another network is refused", saysOtherNetwork),
  ...signatures.map(([name, words, wish]) => law(name, (subject) => signedAs(subject, name, words, wish(subject)))),
  law("a payment that is not valid yet is refused, where the family has such a bound", notYetValid)
]
