/**
 * The scheme `exact` on EVM chains: its definition and its payload. The payer signs an EIP-3009 transfer authorization for
 * exactly the amount; then anyone may submit it, and no one can change it.
 */
import { type Scheme, invalid, type ValidationError } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"

/** The definition that the scheme's client, server and facilitator share. */
export const scheme: Scheme = {
  name: "exact",
  family: "eip155",
  network: EvmNetwork.fromText,
  address: (text) => {
    const address = EvmAddress.fromText(text)
    return address && EvmAddress.checksum(address)
  },
  recipientFault: EvmAddress.recipientFault
}

/**
 * The scheme's payload: the authorization with its numbers as decimal strings, the signature in hexadecimal, and the
 * binding of the nonce to a request where there is one.
 */
export const Payload = /* @__PURE__ */ Schema.Struct({
  signature: Schema.String,
  authorization: Eip3009.TransferWithAuthorization,
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type Payload = typeof Payload.Type

const decode = /* @__PURE__ */ Schema.decodeUnknownEffect(Payload)

/** Decodes a payload; fails with `malformed`. */
export const decodePayload = (json: unknown): Effect.Effect<Payload, ValidationError> =>
  Effect.mapError(decode(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not an EIP-3009 authorization: ${error.message}`)
  )

/**
 * The nonce of an authorization: 24 bytes and then 8 zero bytes. It suits tokens with random nonces and tokens that read a
 * nonce as a 192-bit key and a 64-bit sequence.
 */
export const nonceFrom = (bytes: Uint8Array): EvmHex.Hex => `${EvmHex.fromBytes(bytes.subarray(0, 24))}0000000000000000`

/** The nonce that binds an authorization to a request: the first 24 bytes of the binding's tag. */
export const boundNonce = (binding: RequestBinding): Effect.Effect<EvmHex.Hex> =>
  Effect.map(Binding.tag(binding), nonceFrom)
