/**
 * A credential of the method `evm`, intent `charge`, by a transfer authorization (EIP-3009), and its conversion to a
 * payment of `exact`. The nonce is the Keccak-256 hash of the challenge's id and realm (draft-evm-charge-00).
 *
 * The id of our challenges is the retry token of its response and then the offer's challenge: the token makes each id new,
 * so that a payer's second purchase never signs the same nonce, and the challenge binds it to request and offer. The id is
 * known to shop and payer alone, since the chain shows its hash; so it proves the payer's own repeat, as a salt does.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { sealPayload } from "../../protocol/PaymentPayload.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { PresentedPayment } from "../pontage/Dialect.ts"
import * as MppText from "./MppText.ts"

/** Length of the token at the beginning of an id. */
const tokenLength = 22

/** Reads an id of ours. */
const ownId = /^[A-Za-z0-9_-]{65}$/

const Credential = Schema.Struct({
  challenge: Schema.Struct({
    id: Schema.String,
    realm: Schema.String,
    method: Schema.String,
    intent: Schema.String,
    request: Schema.Json
  }),
  payload: Schema.Record(Schema.String, Schema.Json),
  source: Schema.optionalKey(Schema.String)
})

const Charge = Schema.Struct({
  amount: Schema.String,
  currency: Schema.String,
  recipient: Schema.String,
  methodDetails: Schema.Struct({
    chainId: Schema.Int.check(Schema.isGreaterThan(0)),
    splits: Schema.optionalKey(Schema.Array(Schema.Json))
  })
})

const Authorization = Schema.Struct({
  type: Schema.Literal("authorization"),
  from: Schema.String,
  to: Schema.String,
  value: Schema.String,
  validAfter: Schema.String,
  validBefore: Schema.String,
  nonce: Schema.String,
  signature: Schema.String
})

const decodeCredential = Schema.decodeUnknownResult(Credential)
const decodeCharge = Schema.decodeUnknownResult(Charge)
const decodeAuthorization = Schema.decodeUnknownResult(Authorization)

const malformed = (detail: string, what: string) => Result.fail(invalid("malformed", detail, `the credential ${what}`))

const unknownChallenge = (what: string) =>
  Result.fail(
    invalid("binding_mismatch", "unknown_challenge", `the credential's challenge ${what}; answer the one offered now`)
  )

/** Reads a credential's token. Fails with `malformed`, or with `binding_mismatch` for a challenge that is none of ours. */
export const read = (token: string): Result.Result<PresentedPayment, ValidationError> => fromJson(MppText.decode(token))

/** Reads a credential's JSON, with its challenge's request as base64url or, as over MCP, as JSON. Fails as `read`. */
export const fromJson = (json: unknown): Result.Result<PresentedPayment, ValidationError> =>
  Result.gen(function* () {
    const credential = decodeCredential(json)
    if (Result.isFailure(credential)) return yield* malformed("credential", "is not a JSON credential")
    const { challenge, payload, source } = credential.success
    const { id, intent, method, realm, request } = challenge
    if (method !== "evm" || intent !== "charge") {
      return yield* malformed("method_unsupported", "is not of the method evm with the intent charge")
    }
    if (!ownId.test(id)) return yield* unknownChallenge("has an id that is not of this shop")
    const charge = decodeCharge(typeof request === "string" ? MppText.decode(request) : request)
    if (Result.isFailure(charge)) return yield* unknownChallenge("has a request that is not of this shop")
    const signed = decodeAuthorization(payload)
    if (Result.isFailure(signed)) {
      return yield* malformed("method_unsupported", 'has a payload that is not of the type "authorization"')
    }
    const { amount, currency, methodDetails, recipient } = charge.success
    if (methodDetails.splits !== undefined) return yield* unknownChallenge("asks for splits")
    const { signature, type: _, ...authorization } = signed.success
    const network = `eip155:${methodDetails.chainId}`
    if (source !== undefined && source.toLowerCase() !== `did:pkh:${network}:${authorization.from}`.toLowerCase()) {
      return yield* malformed("source", "names another source than the account that pays")
    }
    const binding = { challenge: id.slice(tokenLength), salt: id.slice(0, tokenLength), realm }
    return {
      payment: sealPayload("exact", network, { signature, authorization, binding }),
      challengeId: id,
      accepted: {
        scheme: "exact",
        network,
        maxAmountRequired: amount,
        asset: currency,
        payTo: recipient,
        maxTimeoutSeconds: undefined,
        extra: undefined
      }
    }
  })
