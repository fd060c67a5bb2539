/**
 * A payment for an x402 facilitator, read by its scheme server: the signed authorization, and the name that all copies
 * of it share.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Network } from "../../protocol/Network.ts"
import { refuse } from "../../protocol/PaymentError.ts"
import * as PaymentId from "../../protocol/PaymentId.ts"
import { openPayload } from "../../protocol/PaymentPayload.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import type { PaymentRequest } from "../Facilitator.ts"
import type { NewPayment } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"

/** A decoded and identified payment; nothing of it is verified yet. */
export interface IdentifiedPayment extends NewPayment {
  readonly schemeServer: SchemeServer
  readonly payment: Payment
  readonly request: PaymentRequest
}

const decodeJson = Schema.decodeUnknownResult(Schema.Json)

/** Decodes and identifies a payment, without any request. */
export const identify = Effect.fnUntraced(function* (schemes: ReadonlyArray<SchemeServer>, request: PaymentRequest) {
  const { paymentPayload, paymentRequirements } = request
  const { schemeServer, network, read } = yield* readerOf(schemes, request)
  const json = yield* Effect.fromResult(openPayload(paymentPayload))
  const payload = yield* Effect.mapError(Effect.fromResult(decodeJson(json)), () =>
    invalid("malformed", "payload_json", "the payload is not a JSON value")
  )
  const payment = yield* read({ ...paymentRequirements, network }, payload)
  const { authorization } = payment
  const requirements = Presentation.canonical(schemeServer.scheme, payment.requirements)
  const paymentId = yield* PaymentId.make(network, authorization)
  const unnamed = { caller: "", notify: false }
  const known = { ...unnamed, paymentId, requirements, authorization, payload: JSON.stringify(payload) }
  return { ...known, schemeServer, payment, request } satisfies IdentifiedPayment
})

interface Reader {
  readonly schemeServer: SchemeServer
  readonly network: Network
  readonly read: SchemeFacilitator["read"]
}

const readerOf = (schemes: ReadonlyArray<SchemeServer>, { paymentPayload, paymentRequirements }: PaymentRequest) => {
  const { network: offered, scheme } = paymentRequirements
  if (paymentPayload.scheme !== scheme) {
    const message = `the payment is of the scheme "${paymentPayload.scheme}", the offer of "${scheme}"`
    return Effect.fail(invalid("unsupported_scheme", "other_scheme", message))
  }
  for (const schemeServer of schemes) {
    const network = schemeServer.scheme.name === scheme ? schemeServer.scheme.network(offered) : undefined
    if (network === undefined || schemeServer.read === undefined) continue
    if (schemeServer.network !== undefined && schemeServer.network !== network) continue
    return Effect.succeed<Reader>({ schemeServer, network, read: schemeServer.read })
  }
  return Effect.fail(refuse("NETWORK_MISMATCH", "network_not_settled", `payments on ${offered} are not settled here`))
}

/** The part of a payment that is stored. */
export const toNew = (identified: IdentifiedPayment): NewPayment => {
  const { authorization, caller, notify, payload, paymentId, requirements } = identified
  return { paymentId, requirements, authorization, payload, caller, notify }
}

/**
 * The scheme's payload. It is stored as JSON text: as a tree of values, a few kilobytes of it can take ten times their
 * length.
 */
export const payloadOf = ({ payload }: NewPayment): Schema.Json =>
  typeof payload === "string" ? JSON.parse(payload) : payload
