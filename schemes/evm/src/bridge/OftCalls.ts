/**
 * Reads of LayerZero's contracts (version 2): of an OFT, and of the endpoint that it sends and receives by. Source: LayerZero's
 * `IOFT`, `IOAppCore` and `ILayerZeroEndpointV2`.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type { CallOutcome } from "../node/EvmNodeError.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type { BridgeRoute } from "../route/BridgeRoute.ts"

const readGas = 200_000n
/** A quote asks every verifier network and the executor for its price. */
const quoteGas = 3_000_000n

/** The getters whose values are compared at start. */
export const getters = {
  token: "0xfc0c546a",
  endpoint: "0x5e280f11",
  eid: "0x416ecebf",
  decimals: "0x313ce567"
} as const

/** The word that a getter returns; `undefined` for other data and for a revert. */
export const read = (
  rpc: Pick<EvmRpc.Shape, "call">,
  to: EvmAddress.Address,
  data: EvmHex.Hex
): Effect.Effect<EvmHex.Hex | undefined, ChainUnavailable> => Effect.map(rpc.call({ to, data, gas: readGas }), wordOf)

const wordOf = (outcome: CallOutcome): EvmHex.Hex | undefined =>
  outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data) ? outcome.data : undefined

/** Calldata of `peers(uint32)`: the OFT of another chain that this one trusts. */
export const peers = (endpointId: number): EvmHex.Hex => `0xbb0b6a53${EvmHex.toWord(endpointId)}`

/** An address as a word of 32 bytes. */
export const toWord = (address: EvmAddress.Address): EvmHex.Hex => `0x${AbiEncoding.address(address)}`

/** Calldata of `quoteSend((...),bool)`, in the chain's own coin. */
const quoteSend = ({
  amount,
  destination,
  minimum,
  options,
  recipient
}: Pick<BridgeRoute, "amount" | "destination" | "minimum" | "options" | "recipient">): EvmHex.Hex =>
  `0x3b6f743b${AbiEncoding.parameters([
    {
      tail: AbiEncoding.parameters([
        EvmHex.toWord(destination),
        AbiEncoding.address(recipient),
        EvmHex.toWord(amount),
        EvmHex.toWord(minimum),
        AbiEncoding.bytes(options),
        AbiEncoding.bytes("0x"),
        AbiEncoding.bytes("0x")
      ])
    },
    EvmHex.toWord(0)
  ])}`

/** The price of a route's message now, in wei; `undefined` where the bridge sends no such message. */
export const messageFee = (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  route: Parameters<typeof quoteSend>[0] & Pick<BridgeRoute, "bridge">
): Effect.Effect<bigint | undefined, ChainUnavailable> =>
  Effect.map(
    judge(
      (block) => rpc.call({ to: route.bridge, data: quoteSend(route), gas: quoteGas }, block),
      ({ _tag }) => _tag === "Reverted"
    ),
    // Two words: the price in the chain's coin, and the price in LayerZero's token, which is not used.
    (outcome) =>
      outcome._tag === "Returned" && outcome.data.length === 2 + 128 ? BigInt(outcome.data.slice(0, 66)) : undefined
  )

/** The place of a message in its channel: the sender on its chain, the receiver on the other one, and its number. */
export interface MessageOrigin {
  readonly sourceId: number
  /** 32 bytes. */
  readonly sender: EvmHex.Hex
  readonly nonce: bigint
  readonly receiver: EvmAddress.Address
}

const channelOf = ({ receiver, sender, sourceId }: MessageOrigin): string =>
  `${AbiEncoding.address(receiver)}${EvmHex.toWord(sourceId)}${sender.slice(2)}`

/** The endpoint's state of a message: `attested` is the hash of its payload, zero while there is none and after its delivery. */
export interface MessageState {
  readonly attested: EvmHex.Hex
  /** The number of the last delivered message; a message up to it whose hash is zero was delivered. */
  readonly delivered: bigint
  /** The number up to which all messages are attested: later ones have to wait. */
  readonly attestedUpTo: bigint
}

/** Reads the endpoint's state of a message. */
export const stateOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  endpoint: EvmAddress.Address,
  origin: MessageOrigin,
  block: EvmRpc.BlockTag
): Effect.fn.Return<MessageState, ChainUnavailable> {
  const channel = channelOf(origin)
  const calls: ReadonlyArray<EvmHex.Hex> = [
    // inboundPayloadHash, lazyInboundNonce, inboundNonce
    `0xc9fc7bcd${channel}${EvmHex.toWord(origin.nonce)}`,
    `0x5b17bb70${channel}`,
    `0xa0dd43fc${channel}`
  ]
  const [attested, delivered, attestedUpTo] = yield* Effect.forEach(
    calls,
    (data) => Effect.map(rpc.call({ to: endpoint, data, gas: inboundGas }, block), wordOf),
    { concurrency: "unbounded" }
  )
  if (attested === undefined || delivered === undefined || attestedUpTo === undefined) {
    const message = `LayerZero's endpoint ${EvmAddress.checksum(endpoint)} returned no valid state of a message`
    return yield* new ChainUnavailable({ network: rpc.network, message })
  }
  return { attested, delivered: BigInt(delivered), attestedUpTo: BigInt(attestedUpTo) }
})

/** `inboundNonce` counts on from the last delivered message. */
const inboundGas = 10_000_000n

/** A message that can be delivered. */
export interface Message extends MessageOrigin {
  /** 32 bytes. */
  readonly guid: EvmHex.Hex
  readonly content: EvmHex.Hex
}

/** Calldata of `lzReceive((uint32,bytes32,uint64),address,bytes32,bytes,bytes)`, by which anybody delivers an attested message. */
export const encodeDelivery = ({ content, guid, nonce, receiver, sender, sourceId }: Message): EvmHex.Hex =>
  `0x0c0c389e${AbiEncoding.parameters([
    EvmHex.toWord(sourceId),
    sender.slice(2),
    EvmHex.toWord(nonce),
    AbiEncoding.address(receiver),
    guid.slice(2),
    AbiEncoding.bytes(content),
    AbiEncoding.bytes("0x")
  ])}`

/** First topic of `OFTReceived(bytes32 indexed guid, uint32 srcEid, address indexed toAddress, uint256 amountReceivedLD)`. */
export const receivedTopic = "0xefed6d3500546b29533b128a29e3a94d70788727f0507505ac12eaf2e578fd9c"

/** First topic of the endpoint's `PacketSent(bytes encodedPayload, bytes options, address sendLibrary)`. */
const packetTopic = "0x1ab700d4ced0c005b164c0f789fd09fcbb0156d4c2041b8a3bfbcd961cd1567f"

/** Digits of a packet before its message: version, number, the chains and accounts of both ends, and the message's name. */
const headDigits = 2 * 113

/** The message of this name that an endpoint has sent, in the logs of a transaction (`PacketV1Codec`). */
export const sentIn = (
  endpoint: EvmAddress.Address,
  guid: EvmHex.Hex,
  logs: ReadonlyArray<EvmRpc.Event>
): Message | undefined => {
  for (const { address, data, topics } of logs) {
    if (address !== endpoint || topics[0] !== packetTopic) continue
    const packet = bytesAt(data, 0)
    if (packet === undefined || packet.length < headDigits || `0x${packet.slice(162, 226)}` !== guid) continue
    return {
      nonce: BigInt(`0x${packet.slice(2, 18)}`),
      sourceId: Number(`0x${packet.slice(18, 26)}`),
      sender: `0x${packet.slice(26, 90)}`,
      receiver: EvmAddress.fromTail(`0x${packet.slice(98, 162)}`),
      guid,
      content: `0x${packet.slice(headDigits)}`
    }
  }
  return undefined
}

/** The digits of the parameter at this place, from 0, a value of variable length. */
export const bytesAt = (data: EvmHex.Hex, place: number): string | undefined => {
  const at = 2 + 2 * Number(`0x${data.slice(2 + 64 * place, 66 + 64 * place) || "0"}`)
  const length = Number(`0x${data.slice(at, at + 64) || "0"}`)
  const digits = data.slice(at + 64, at + 64 + 2 * length)
  return digits.length === 2 * length ? digits : undefined
}

/** The recipient in an OFT's message. */
export const recipientIn = ({ content }: Pick<Message, "content">): EvmAddress.Address | undefined =>
  content.length >= 2 + 64 ? EvmAddress.fromTail(`0x${content.slice(2, 66)}`) : undefined
