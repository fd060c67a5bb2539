/**
 * Requests for a gate, with and without a payment, and the reading of its responses.
 */
import { type Decision, type GateRequest, PaymentPayload, PaymentRequired, AsciiJson } from "@pontage/core"
import * as Schema from "effect/Schema"

type Headers = Readonly<Record<string, string | ReadonlyArray<string>>>

export const request = (
  target: string,
  headers: Headers = {},
  more: Partial<Pick<GateRequest, "method" | "params" | "query" | "body" | "bodyDigest" | "rawBody" | "native">> = {}
): GateRequest => ({
  method: "GET",
  target,
  header: (name) => headers[name],
  headers,
  params: {},
  query: {},
  body: undefined,
  native: undefined,
  ...more
})

/** A payment header; the gate looks at the envelope and the binding alone. */
export const payment = (
  challenge: string | undefined,
  { network = "eip155:8453", scheme = "exact" }: { readonly network?: string; readonly scheme?: string } = {}
): Headers => ({
  "x-payment": AsciiJson.encode(
    PaymentPayload.sealPayload(scheme, network, {
      signature: "0x00",
      ...(challenge === undefined ? {} : { binding: { challenge, salt: "A".repeat(22) } })
    })
  )
})

export const bodyOf = (decision: Decision): PaymentRequired.PaymentRequired => {
  if (decision._tag !== "Refused") throw new Error(`expected a refusal, got ${decision._tag}`)
  return Schema.decodeUnknownSync(PaymentRequired.PaymentRequired)(JSON.parse(decision.response.body))
}

/** The challenge of an offer. */
export const challengeIn = (decision: Decision, index = 0): string => {
  const challenge = bodyOf(decision).accepts[index]?.extra?.["challenge"]
  if (typeof challenge !== "string") throw new Error("the offer has no challenge")
  return challenge
}
