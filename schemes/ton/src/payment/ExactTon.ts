/**
 * The scheme `exact` on TON: its definition, its payload, and the terms it adds to an offer. The payer signs a request to
 * its own wallet to transfer exactly the amount of a Jetton; the account that sends it to the wallet pays the gas and cannot
 * change it.
 */
import { invalid, type PaymentRequirements, type Scheme, Shape, type ValidationError } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import type * as JettonTransfer from "../transfer/JettonTransfer.ts"
import * as SettlementPayload from "./SettlementPayload.ts"

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
export const kinds = ["w5-internal", "external"] as const

export type Kind = (typeof kinds)[number]

/** The schema of a kind. */
export const Kind = /* @__PURE__ */ Schema.Literals(kinds)

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

/** A signed message from a payload of either form: ours, or that of x402 (`SettlementPayload`). */
export interface SignedMessage {
  readonly kind: Kind
  readonly boc: string
  /** The payer as the payload names it; x402's does not. */
  readonly from: string | undefined
  /** The Jetton's master as x402's payload names it; ours does not. */
  readonly asset: string | undefined
  readonly binding: RequestBinding | undefined
}

const decodeOwn = /* @__PURE__ */ Schema.decodeUnknownEffect(Payload)
const decodeSettlement = /* @__PURE__ */ Schema.decodeUnknownEffect(SettlementPayload.SettlementPayload)

/** Reads a payload of either form; fails with `malformed`. */
export const decodePayload = (json: unknown): Effect.Effect<SignedMessage, ValidationError> => {
  const isSettlement = SettlementPayload.isIn(json)
  if (isSettlement && (Predicate.hasProperty(json, "boc") || Predicate.hasProperty(json, "kind"))) return twoForms
  const message: Effect.Effect<SignedMessage, Schema.SchemaError> = isSettlement
    ? Effect.map(decodeSettlement(json), ({ asset, binding, settlementBoc: boc }) => ({
        kind: "w5-internal",
        boc,
        from: undefined,
        asset,
        binding
      }))
    : Effect.map(decodeOwn(json), ({ binding, boc, from, kind }) => ({ kind, boc, from, asset: undefined, binding }))
  return Effect.mapError(message, (error) =>
    invalid("malformed", "payload_fields", `the payload is not a signed TON message: ${error.message}`)
  )
}

const twoForms = /* @__PURE__ */ Effect.fail(
  invalid(
    "malformed",
    "two_payloads",
    "the payload has the fields of two forms; send boc, kind and from, or settlementBoc and asset"
  )
)

/** A facilitator's demands beside the common terms: an offer's `extra`. */
export interface Terms {
  readonly kinds: ReadonlyArray<Kind>
  /** The account that receives the unused TON of a payment. */
  readonly responseDestination: TonAddress.Address | undefined
  /** The most TON that a payer's request may hand on, in nanotons. */
  readonly maxInnerTon: bigint
}

/** The terms of an offer, of either mechanism. */
export interface OfferTerms extends Terms {
  /** Whether it is an offer of x402's mechanism, which takes x402's payload and mode 1 or 3 alone. */
  readonly takesSettlement: boolean
  /** The form of the empty forward payload in a transfer; absent for ours. */
  readonly emptyPayload: JettonTransfer.EmptyPayload | undefined
  /** Reason why this package neither pays nor settles it: the end of a sentence about the offer. */
  readonly obstacle: string | undefined
}

/** The most TON that a request may hand on by default, in nanotons. */
export const defaultMaxInnerTon = 100_000_000n

interface Extra extends SettlementPayload.Extra {
  readonly kinds?: ReadonlyArray<Kind>
  readonly responseDestination?: string
  readonly maxInnerTon?: string
}

const makeExtra = () =>
  Shape.struct<Extra>({
    kinds: Shape.optional(Shape.list(Shape.oneOf(kinds))),
    responseDestination: Shape.nullable(Shape.text),
    maxInnerTon: Shape.optional(Shape.text),
    ...SettlementPayload.extraFields
  })

const extraShape = /* @__PURE__ */ makeExtra()
const nanotons = /^(0|[1-9][0-9]{0,17})$/

/** The terms of an offer; `undefined` when its `extra` is not valid for this scheme. */
export const termsOf = ({ extra = {} }: PaymentRequirements.PaymentRequirements): OfferTerms | undefined => {
  const read = Shape.read(extraShape, extra)
  if (Result.isFailure(read)) return undefined
  const { areFeesSponsored, maxInnerTon = `${defaultMaxInnerTon}`, responseDestination: responseText } = read.success
  const response = responseText === undefined ? undefined : TonAddress.fromText(responseText)
  if (!nanotons.test(maxInnerTon) || (responseText !== undefined && response === undefined)) return undefined
  const { emptyPayload, obstacle } = SettlementPayload.forwardingOf(read.success)
  const takesSettlement = read.success.kinds === undefined && areFeesSponsored === true
  return {
    kinds: read.success.kinds ?? ["w5-internal"],
    responseDestination: response,
    maxInnerTon: BigInt(maxInnerTon),
    takesSettlement,
    emptyPayload: takesSettlement ? emptyPayload : undefined,
    obstacle
  }
}

/** The query id of a transfer: the first 8 bytes as a big-endian number. */
export const queryIdFrom = (bytes: Uint8Array): bigint =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0)

/** The query id that binds a transfer to a request: the first 8 bytes of the binding's tag. */
export const boundQueryId = (binding: RequestBinding): Effect.Effect<bigint> =>
  Effect.map(Binding.tag(binding), queryIdFrom)
