/**
 * The authorization in the headers of a paid request, in the words of whoever signed it: read by hand, so that neither our
 * code nor the peer's is believed.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { JournalPayment } from "../audit/TrialJournal.ts"

const Signed = Schema.Struct({
  authorization: Schema.Struct({
    from: Schema.String,
    to: Schema.String,
    value: Schema.BigIntFromString,
    nonce: Schema.String
  })
})
const decodeSigned = Schema.decodeUnknownOption(Signed)
const decodeOurs = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ payload: Schema.String })))
const decodePeers = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ payload: Signed })))

/** The payment that a request carries, in our header or in that of x402; `undefined` where there is none. */
export const paymentIn = (header: (name: string) => string | null | undefined): JournalPayment | undefined => {
  const ours = header("x-payment")
  const peers = header("payment-signature")
  const signed =
    typeof ours === "string"
      ? Option.flatMap(decodeOurs(ours), ({ payload }) => decodeSigned(jsonOf(payload)))
      : Option.map(decodePeers(typeof peers === "string" ? textOf(peers) : ""), ({ payload }) => payload)
  return Option.getOrUndefined(
    Option.map(signed, ({ authorization: { from, nonce, to, value } }) => ({
      payer: from.toLowerCase(),
      nonce: nonce.toLowerCase(),
      payTo: to.toLowerCase(),
      amount: value
    }))
  )
}

/** The name of an authorization: its payer and its nonce. */
export const keyOf = ({ nonce, payer }: Pick<JournalPayment, "nonce" | "payer">): string =>
  `${payer},${nonce}`.toLowerCase()

const textOf = (base64: string): string => Buffer.from(base64, "base64").toString("utf8")

const jsonOf = (base64: string): unknown => {
  try {
    const json: unknown = JSON.parse(textOf(base64))
    return json
  } catch {
    return undefined
  }
}
