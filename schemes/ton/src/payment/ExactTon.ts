/**
 * The scheme `exact` on TON: its definition, its payload, and the terms it adds to an offer. The payer signs a request to
 * its own wallet to transfer exactly the amount of a Jetton; the account that sends it to the wallet pays the gas and cannot
 * change it.
 */
import { invalid, type PaymentRequirements, type Scheme, type ValidationError } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"

/** The address of 32 zero bytes, which no key opens: `0:000…`, or `EQAAA…` with a checksum. */
const noAccount = /^(?:0:0{64}|[EUk0]QA{43}[\w+/-]{3})$/

/** The definition that the scheme client, server and facilitator share. */
export const scheme: Scheme = {
  name: "exact",
  family: "ton",
  network: TonNetwork.fromText,
  address: TonAddress.fromText,
  recipientFault: (text) =>
    noAccount.test(text) ? "is the zero address, whose money nobody can spend; give a wallet of yours" : undefined
}

/**
 * How the signed request reaches the wallet: inside a message that the facilitator pays for (W5 wallets), or as an external
 * message whose gas the payer pays.
 */
export const Kind = /* @__PURE__ */ Schema.Literals(["w5-internal", "external"])

export type Kind = typeof Kind.Type

/**
 * The scheme's payload: the signed message as a bag of cells in base64, the payer's address, and for a bound payment the binding
 * of its query id to a request. The signed cells hold everything else.
 */
export const Payload = /* @__PURE__ */ Schema.Struct({
  kind: Kind,
  boc: Schema.String,
  from: Schema.String,
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type Payload = typeof Payload.Type

const decode = /* @__PURE__ */ Schema.decodeUnknownEffect(Payload)

/** Reads a payload; fails with `malformed`. */
export const decodePayload = (json: unknown): Effect.Effect<Payload, ValidationError> =>
  Effect.mapError(decode(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a signed TON message: ${error.message}`)
  )

/** A facilitator's demands beside the common terms: an offer's `extra`. */
export interface Terms {
  readonly kinds: ReadonlyArray<Kind>
  /** The account that receives the unused TON of a payment. */
  readonly responseDestination: TonAddress.Address | undefined
  /** The most TON that a payer's request may hand on, in nanotons. */
  readonly maxInnerTon: bigint
}

/** The most TON that a request may hand on by default, in nanotons. */
export const defaultMaxInnerTon = 100_000_000n

const Extra = /* @__PURE__ */ Schema.Struct({
  kinds: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.Array(Kind)),
  responseDestination: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  maxInnerTon: /* @__PURE__ */ Schema.optionalKey(Schema.String)
})

const decodeExtra = /* @__PURE__ */ Schema.decodeUnknownOption(Extra)
const nanotons = /^(0|[1-9][0-9]{0,17})$/

/** The terms of an offer; `undefined` when its `extra` is not valid for this scheme. */
export const termsOf = ({ extra = {} }: PaymentRequirements.PaymentRequirements): Terms | undefined => {
  const decoded = decodeExtra(extra)
  if (decoded._tag === "None") return undefined
  const { kinds = ["w5-internal"], maxInnerTon = `${defaultMaxInnerTon}`, responseDestination } = decoded.value
  const response = responseDestination === undefined ? undefined : TonAddress.fromText(responseDestination)
  if (!nanotons.test(maxInnerTon) || (responseDestination !== undefined && response === undefined)) return undefined
  return { kinds, responseDestination: response, maxInnerTon: BigInt(maxInnerTon) }
}

/** The query id of a transfer: the first 8 bytes as a big-endian number. */
export const queryIdFrom = (bytes: Uint8Array): bigint =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0)

/** The query id that binds a transfer to a request: the first 8 bytes of the binding's tag. */
export const boundQueryId = (binding: RequestBinding): Effect.Effect<bigint> =>
  Effect.map(Binding.tag(binding), queryIdFrom)
