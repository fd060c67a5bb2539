/**
 * A challenge of the method `evm`, intent `charge`, as an option of `exact`, and the credential that pays it by a transfer
 * authorization (draft-evm-charge-00). Fields that the challenge's id does not cover decide nothing.
 */
import type * as Schema from "effect/Schema"

import * as Network from "../../protocol/Network.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as Shape from "../../protocol/Shape.ts"
import type { PaymentTerms } from "../pontage/Dialect.ts"
import { amount } from "../pontage/RefusalShape.ts"
import type { Parameters } from "./MppChallenge.ts"
import * as MppText from "./MppText.ts"

/** A challenge that can be paid. */
export interface MppCharge {
  readonly requirements: PaymentRequirements
  readonly terms: PaymentTerms
  /** The credential's JSON for the scheme's signed payload; `undefined` for a payload that is no transfer authorization. */
  readonly credential: (payload: Schema.Json) => Schema.Json | undefined
}

interface Charge {
  readonly amount: string
  readonly currency: string
  readonly recipient: string
  readonly methodDetails: {
    readonly chainId: number
    readonly credentialTypes: ReadonlyArray<string>
    readonly splits?: ReadonlyArray<Schema.Json>
  }
}

const chainId = /* @__PURE__ */ Shape.guarded(
  "a chain id",
  (value): value is number => Number.isSafeInteger(value) && Number(value) > 0
)

const chargeShape = /* @__PURE__ */ Shape.struct<Charge>({
  amount,
  currency: Shape.text,
  recipient: Shape.text,
  methodDetails: /* @__PURE__ */ Shape.struct<Charge["methodDetails"]>({
    chainId,
    credentialTypes: /* @__PURE__ */ Shape.list(Shape.text),
    splits: /* @__PURE__ */ Shape.optional(/* @__PURE__ */ Shape.list(Shape.json))
  })
})

type AuthorizationField = "from" | "to" | "value" | "validAfter" | "validBefore" | "nonce"
type Authorization = Readonly<Record<AuthorizationField, string>>

const signedShape = /* @__PURE__ */ Shape.struct<{
  readonly authorization: Authorization
  readonly signature: string
}>({
  authorization: /* @__PURE__ */ Shape.struct<Authorization>({
    from: Shape.text,
    to: Shape.text,
    value: Shape.text,
    validAfter: Shape.text,
    validBefore: Shape.text,
    nonce: Shape.text
  }),
  signature: Shape.text
})

const instantGrammar = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i

/** The second before which the challenge ends; `undefined` for a text that is no instant of RFC 3339. */
const secondOf = (expires: string): number | undefined => {
  const millis = instantGrammar.test(expires) ? Date.parse(expires) : Number.NaN
  return Number.isNaN(millis) ? undefined : Math.floor(millis / 1000)
}

/** The credential repeats the challenge in the form in which it came. */
export type Echo = (challenge: Parameters) => Schema.JsonObject

/**
 * Reads a challenge; `undefined` if it is of another method, asks for something else than one transfer authorization, or
 * wants the payment in a header that carries none.
 */
export const fromChallenge = (
  challenge: Parameters,
  request: unknown = MppText.decode(challenge["request"] ?? ""),
  echo: Echo = (whole) => whole
): MppCharge | undefined => {
  const { description, expires, header = "Authorization", id = "", intent, method, realm = "" } = challenge
  const isCharge = method === "evm" && intent === "charge" && /^(?:payment-)?authorization$/i.test(header)
  const charge = isCharge && MppText.isPlain(request) ? chargeShape.read(request) : undefined
  const validUntil = expires === undefined ? undefined : secondOf(expires)
  if (charge === undefined || charge instanceof Shape.Fault || (validUntil === undefined && expires !== undefined)) {
    return undefined
  }
  const { chainId, credentialTypes, splits = [] } = charge.methodDetails
  if (!credentialTypes.includes("authorization") || splits.length > 0) return undefined
  const network = Network.make(`eip155:${chainId}`)
  return {
    requirements: {
      scheme: "exact",
      network,
      maxAmountRequired: charge.amount,
      resource: "",
      ...(description !== undefined && { description }),
      payTo: charge.recipient,
      asset: charge.currency,
      extra: { assetTransferMethod: "eip3009" }
    },
    terms: { binding: { salt: "", challenge: id, realm }, validUntil, header },
    credential: (payload) => credential(echo(challenge), network, payload)
  }
}

const credential = (challenge: Schema.Json, network: string, payload: Schema.Json): Schema.Json | undefined => {
  const signed = signedShape.read(payload)
  if (signed instanceof Shape.Fault) return undefined
  const { authorization, signature } = signed
  return {
    challenge,
    payload: { type: "authorization", ...authorization, signature },
    source: `did:pkh:${network}:${authorization.from}`
  }
}
