/**
 * The requests to a facilitator of x402, in both versions: the kinds that it settles, and the bodies of `POST /verify`
 * and `POST /settle` (x402 specification, section "Facilitator Interface"). The payer's salt is not sent: the chain
 * does not need it, and whoever knows it may have a paid execution repeated.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as X402Network from "../x402/X402Network.ts"
import * as X402Offer from "../x402/X402Offer.ts"
import type { X402Version } from "../x402/X402Reason.ts"
import * as X402Sponsoring from "../x402/X402Sponsoring.ts"

/** A settled kind; `network` is its CAIP-2 identifier, or an alias of it. */
export interface Kind {
  readonly version: X402Version
  readonly scheme: string
  readonly network: string
  readonly extra: Readonly<Record<string, Schema.Json>> | undefined
}

/** A facilitator's description of itself. */
export interface Kinds {
  readonly kinds: ReadonlyArray<Kind>
  readonly signers: Readonly<Record<string, ReadonlyArray<string>>>
}

/** Any kind of any version; unknown ones are ignored. */
const AnyKind = Schema.Struct({
  x402Version: Schema.Int,
  scheme: Schema.String,
  network: Schema.String,
  extra: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Json)))
})

const decodeResponse = Schema.decodeUnknownResult(
  Schema.Struct({ kinds: Schema.Array(Schema.Json), signers: Schema.optionalKey(Schema.Json) })
)
const decodeKind = Schema.decodeUnknownResult(AnyKind)
const decodeSigners = Schema.decodeUnknownResult(Schema.Record(Schema.String, Schema.Array(Schema.String)))
const isOurKind = Schema.is(Schema.Struct({ protocolVersion: Schema.Json }))

/** Whether a response to `GET /supported` comes from a facilitator that supports x402 and not Pontage's protocol. */
export const isForeign = (json: unknown): boolean => {
  const response = decodeResponse(json)
  if (Result.isFailure(response)) return false
  const { kinds } = response.success
  return !kinds.some(isOurKind) && kinds.some((kind) => Result.isSuccess(decodeKind(kind)))
}

/**
 * Reads the response to `GET /supported`. Kinds of other versions, and on networks without a CAIP-2 name, are left out.
 */
export const readKinds = (json: unknown): Result.Result<Kinds, { readonly message: string }> =>
  Result.map(decodeResponse(json), ({ kinds, signers }) => ({
    kinds: kinds.flatMap((kind) => {
      const decoded = Result.getOrUndefined(decodeKind(kind))
      const known = decoded && kindOf(decoded)
      return known === undefined ? [] : [known]
    }),
    signers: Result.getOrElse(decodeSigners(signers), () => ({}))
  }))

const kindOf = ({ extra, network, scheme, x402Version }: typeof AnyKind.Type): Kind | undefined => {
  if (x402Version === 2) return { version: 2, scheme, network, extra: extra ?? undefined }
  const named = x402Version === 1 ? X402Network.fromName(network) : undefined
  return named && { version: 1, scheme, network: named, extra: extra ?? undefined }
}

/** The request body about a payment; `undefined` on a network that the version has no name for. */
export const bodyOf = (
  version: X402Version,
  requirements: PaymentRequirements,
  payload: Schema.Json
): Schema.Json | undefined => {
  const signed = withoutBinding(payload)
  if (version === 2) {
    const accepted = X402Offer.toV2(requirements)
    const { extension, payload: bare } = X402Sponsoring.outOfPayload(signed)
    const resource = X402Offer.resourceOf(requirements)
    const extensions = extension && { extensions: extension }
    const payment = { x402Version: 2, payload: bare, ...extensions, resource, accepted }
    return jsonOf({ x402Version: 2, paymentPayload: payment, paymentRequirements: accepted })
  }
  const offer = X402Offer.toV1(requirements)
  if (offer === undefined) return undefined
  const { network, scheme } = offer
  const payment = { x402Version: 1, scheme, network, payload: signed }
  return jsonOf({ x402Version: 1, paymentPayload: payment, paymentRequirements: offer })
}

const decodeRecord = Schema.decodeUnknownResult(Schema.Record(Schema.String, Schema.Json))

const withoutBinding = (payload: Schema.Json): Schema.Json => {
  const record = decodeRecord(payload)
  if (Result.isFailure(record)) return payload
  const { binding: _, ...signed } = record.success
  return signed
}

const decodeJson = Schema.decodeUnknownSync(Schema.Json)

/** The body as JSON. Optional keys have types that include `undefined`, but are never written so. */
const jsonOf = (body: unknown): Schema.Json => decodeJson(body)
