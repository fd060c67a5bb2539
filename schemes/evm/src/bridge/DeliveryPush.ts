/**
 * A delivery as a payment of its own on the other chain: its payer is the OFT, which signs nothing, and its nonce is made of the
 * message's name and the attempt's number.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import {
  invalid,
  type Network,
  type Payment,
  type PaymentRequirements,
  type Push,
  type Scheme,
  type ValidationError
} from "@pontage/core"
import * as Amount from "@pontage/core/Amount"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as ExactEvm from "../payment/ExactEvm.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type { CrossingEnd } from "./BridgeCrossing.ts"
import * as OftCalls from "./OftCalls.ts"

/** The definition of the scheme of deliveries: that of `exact` under another name. */
export const scheme: Scheme = { ...ExactEvm.scheme, name: "delivery" }

/** The longest message, in bytes: a recipient and an amount take 40. */
const longestMessage = 1_024

const PushPayload = Schema.Struct({
  receiver: EvmAddress.FromText,
  sourceId: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 32 - 1 })),
  sender: EvmHex.Bytes32,
  nonce: Amount.FromText,
  guid: EvmHex.Bytes32,
  content: EvmHex.Hex.check(
    Schema.makeFilter((hex: EvmHex.Hex) => hex.length <= 2 + 2 * longestMessage, {
      expected: `at most ${longestMessage} bytes`
    })
  ),
  attempt: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  /** Unix seconds of the first chain's block: the delivery is looked for from then on. */
  since: Schema.Int
})

const decode = Schema.decodeUnknownEffect(PushPayload)

/** A push as the payload of a payment. */
export interface DeliveryPush {
  readonly message: OftCalls.Message
  readonly since: number
}

/** A time that never comes: a message does not expire. */
const forever = 4_102_444_800

/** The push of a message. */
export const make = (
  network: Network.Network,
  { token }: CrossingEnd,
  message: OftCalls.Message,
  {
    amount,
    attempt,
    payTo,
    since
  }: Record<"attempt" | "since", number> & {
    readonly amount: bigint
    readonly payTo: EvmAddress.Address
  }
): Push => ({
  requirements: {
    scheme: scheme.name,
    network,
    maxAmountRequired: `${amount}`,
    resource: "urn:pontage:delivery",
    payTo: EvmAddress.checksum(payTo),
    asset: EvmAddress.checksum(token)
  },
  payload: {
    receiver: EvmAddress.checksum(message.receiver),
    sourceId: message.sourceId,
    sender: message.sender,
    nonce: `${message.nonce}`,
    guid: message.guid,
    content: message.content,
    attempt,
    since
  }
})

/** Reads a push; `tokenOf` gives the token of an OFT of this network. Only the core makes pushes: it names the payment that is delivered. */
export const read = Effect.fnUntraced(function* (
  tokenOf: (oft: EvmAddress.Address) => EvmAddress.Address | undefined,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
): Effect.fn.Return<Payment<DeliveryPush>, ValidationError> {
  const { asset = "", extra = {}, maxAmountRequired, payTo } = requirements
  if (typeof extra["delivers"] !== "string") {
    return yield* refused("caller", "is not made by the facilitator itself; deliveries are no payments of callers")
  }
  const { attempt, since, ...origin } = yield* Effect.mapError(decode(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a delivery: ${error.message}`)
  )
  const token = tokenOf(origin.receiver)
  if (token === undefined || EvmAddress.fromText(asset) !== token) {
    return yield* refused(
      "asset",
      `is of ${asset} by the OFT ${EvmAddress.checksum(origin.receiver)}, which is not served`
    )
  }
  const recipient = OftCalls.recipientIn(origin)
  if (recipient === undefined || EvmAddress.fromText(payTo) !== recipient) {
    return yield* refused("recipient", `has another recipient than ${payTo}`)
  }
  return {
    requirements,
    payload: { message: origin, since },
    authorization: {
      payer: EvmAddress.checksum(origin.receiver),
      payTo: EvmAddress.checksum(recipient),
      asset: EvmAddress.checksum(token),
      amount: BigInt(maxAmountRequired),
      nonce: nonceOf(origin.guid, attempt),
      validAfter: 0,
      validBefore: forever,
      binding: undefined
    }
  }
})

const nonceOf = (guid: EvmHex.Hex, attempt: number): EvmHex.Hex =>
  EvmHex.fromBytes(keccak_256(EvmHex.toBytes(`${guid}${EvmHex.toWord(attempt)}`)))

const refused = (rule: string, what: string) =>
  Effect.fail(invalid("unsupported_authorization", `delivery_${rule}`, `the delivery ${what}`))
