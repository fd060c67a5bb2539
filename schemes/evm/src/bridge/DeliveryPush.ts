/**
 * A delivery as a payment of its own on the other chain: its payer is the bridge, which signs nothing, and its nonce is made of the
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
import type * as CctpCalls from "./CctpCalls.ts"
import * as CctpMessage from "./CctpMessage.ts"
import type { CrossingEnd } from "./CrossingEnd.ts"
import * as OftCalls from "./OftCalls.ts"

/** The definition of the scheme of deliveries: that of `exact` under another name. */
export const scheme: Scheme = { ...ExactEvm.scheme, name: "delivery" }

/** The longest message, and the longest attestation, in bytes: a recipient and an amount take 40. */
const longestMessage = 1_024

const Content = EvmHex.Hex.check(
  Schema.makeFilter((hex: EvmHex.Hex) => hex.length <= 2 + 2 * longestMessage, {
    expected: `at most ${longestMessage} bytes`
  })
)

/** The parts of every push. */
const common = {
  attempt: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  /** Unix seconds of the first chain's block: the delivery is looked for from then on. */
  since: Schema.Int
}

const OftPayload = Schema.Struct({
  receiver: EvmAddress.FromText,
  sourceId: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 32 - 1 })),
  sender: EvmHex.Bytes32,
  nonce: Amount.FromText,
  guid: EvmHex.Bytes32,
  content: Content,
  ...common
})

const CctpPayload = Schema.Struct({ message: Content, attestation: Content, ...common })

const decode = Schema.decodeUnknownEffect(Schema.Union([OftPayload, CctpPayload]))

/** A message that is delivered: of LayerZero, or of CCTP. */
export type PushedMessage =
  | (OftCalls.Message & { readonly kind: "oft" })
  | (CctpCalls.AttestedMessage & { readonly kind: "cctp"; readonly read: CctpMessage.CctpMessage })

/** A push as the payload of a payment. */
export interface DeliveryPush {
  readonly message: PushedMessage
  readonly since: number
}

/** The contract that takes a message in on its chain: the OFT, or CCTP's messenger. */
export const receiverOf = (message: PushedMessage): EvmAddress.Address =>
  message.kind === "oft" ? message.receiver : message.read.messenger

/** The name of a message: 32 bytes. */
export const nameOf = (message: PushedMessage): EvmHex.Hex =>
  message.kind === "oft" ? message.guid : message.read.nonce

/** Gas for a delivery that is tried, and for one that is sent. */
export const gas = 500_000n

/** A time that never comes: a message does not expire. */
const forever = 4_102_444_800

/** The push of a message. */
export const make = (
  network: Network.Network,
  { token }: CrossingEnd,
  message: PushedMessage,
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
  payload: { ...onWire(message), attempt, since }
})

const onWire = (message: PushedMessage) =>
  message.kind === "oft"
    ? {
        receiver: EvmAddress.checksum(message.receiver),
        sourceId: message.sourceId,
        sender: message.sender,
        nonce: `${message.nonce}`,
        guid: message.guid,
        content: message.content
      }
    : { message: message.message, attestation: message.attestation }

/** Reads a push; `tokenOf` gives the token of a bridge of this network. Only the core makes pushes: it names the payment that is delivered. */
export const read = Effect.fnUntraced(function* (
  tokenOf: (bridge: EvmAddress.Address) => EvmAddress.Address | undefined,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
): Effect.fn.Return<Payment<DeliveryPush>, ValidationError> {
  const { asset = "", extra = {}, maxAmountRequired, payTo } = requirements
  if (typeof extra["delivers"] !== "string") {
    return yield* refused("caller", "is not made by the facilitator itself; deliveries are no payments of callers")
  }
  const { attempt, since, ...pushed } = yield* Effect.mapError(decode(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a delivery: ${error.message}`)
  )
  const message = messageOf(pushed)
  if (message === undefined) return yield* refused("message", "is of bytes that are no message of CCTP")
  const receiver = receiverOf(message)
  const token = tokenOf(receiver)
  if (token === undefined || EvmAddress.fromText(asset) !== token) {
    return yield* refused("asset", `is of ${asset} by the bridge ${EvmAddress.checksum(receiver)}, which is not served`)
  }
  const recipient = message.kind === "oft" ? OftCalls.recipientIn(message) : message.read.recipient
  if (recipient === undefined || EvmAddress.fromText(payTo) !== recipient) {
    return yield* refused("recipient", `has another recipient than ${payTo}`)
  }
  return {
    requirements,
    payload: { message, since },
    authorization: {
      payer: EvmAddress.checksum(receiver),
      payTo: EvmAddress.checksum(recipient),
      asset: EvmAddress.checksum(token),
      amount: BigInt(maxAmountRequired),
      nonce: nonceOf(nameOf(message), attempt),
      validAfter: 0,
      validBefore: forever,
      binding: undefined
    }
  }
})

type Pushed = Omit<typeof OftPayload.Type, keyof typeof common> | Omit<typeof CctpPayload.Type, keyof typeof common>

const messageOf = (pushed: Pushed): PushedMessage | undefined => {
  if ("guid" in pushed) return { kind: "oft", ...pushed }
  const read = CctpMessage.read(pushed.message)
  return read && { kind: "cctp", ...pushed, read }
}

const nonceOf = (name: EvmHex.Hex, attempt: number): EvmHex.Hex =>
  EvmHex.fromBytes(keccak_256(EvmHex.toBytes(`${name}${EvmHex.toWord(attempt)}`)))

const refused = (rule: string, what: string) =>
  Effect.fail(invalid("unsupported_authorization", `delivery_${rule}`, `the delivery ${what}`))
