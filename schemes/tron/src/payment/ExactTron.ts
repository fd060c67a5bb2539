/**
 * The scheme `exact` on TRON: its definition and its payload. The payer signs the transaction that moves the token, a TRC-20
 * `transfer` of exactly the amount; anyone may then submit it, and no one can change it. The payer, or a sponsor, pays the
 * chain's fee.
 */
import { invalid, type Scheme, type ValidationError } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"

/** The address of 20 zero bytes: no key opens it. */
const noAccount = `41${"0".repeat(40)}`

/** The definition that the scheme client, server and facilitator share. */
export const scheme: Scheme = {
  name: "exact",
  family: "tron",
  network: TronNetwork.fromText,
  address: (text) => {
    const address = TronAddress.fromText(text)
    return address && TronAddress.toBase58(address)
  },
  recipientFault: (text) =>
    TronAddress.fromText(text) === noAccount
      ? "is the zero address, whose money nobody can spend; give an account of yours"
      : undefined
}

const isAddress = (text: string) => TronAddress.fromBase58(text) !== undefined
const isId = (text: string) => text.length === 64 && TronHex.isHex(text)
const isRaw = (text: string) => text.length <= 2 * TronTransaction.maximumBytes && TronHex.isHex(text)
const isSignature = (text: string) => text.length <= 2 + 2 * 65

// A payer needs none of these schemas: calls marked pure make them, so that its bundle leaves them out.
const text = (is: (text: string) => boolean, expected: string) =>
  Schema.String.check(Schema.makeFilter(is, { expected }))

const makePayload = () =>
  Schema.Struct({
    from: text(isAddress, "an address in base58check"),
    signedTransaction: Schema.Struct({
      txID: text(isId, "64 lower-case hexadecimal digits"),
      raw_data_hex: text(isRaw, `at most ${TronTransaction.maximumBytes} bytes in lower-case hexadecimal`),
      signature: Schema.Array(text(isSignature, "65 bytes in hexadecimal")).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(1)
      )
    }),
    binding: Schema.optionalKey(RequestBinding)
  })

/**
 * The scheme's payload: the payer, the transaction with its one signature as wallets return it (its JSON form is neither sent nor
 * read), and the optional binding to a request.
 */
export const Payload = /* @__PURE__ */ makePayload()

export type Payload = typeof Payload.Type

const decode = /* @__PURE__ */ Schema.decodeUnknownEffect(Payload)

/** Decodes a payload; fails with `malformed`. */
export const decodePayload = (json: unknown): Effect.Effect<Payload, ValidationError> =>
  Effect.mapError(decode(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a signed TRON transaction: ${error.message}`)
  )

/** A transaction's timestamp, 48 bits: nodes ignore it, so it serves to make each payment unique. */
export const timestampFrom = (bytes: Uint8Array): bigint => BigInt(`0x${TronHex.fromBytes(bytes.subarray(0, 6))}`)

/** The timestamp that binds a payment to a request: the first 6 bytes of the binding's tag. */
export const boundTimestamp = (binding: RequestBinding): Effect.Effect<bigint> =>
  Effect.map(Binding.tag(binding), timestampFrom)
