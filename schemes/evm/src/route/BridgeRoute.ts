/**
 * Payments through our routers (`RouteRouters`): the payer signs an EIP-3009 `ReceiveWithAuthorization` to the router, whose nonce is
 * the hash of the whole route, so that the one who submits it can change nothing. The router takes the money, pays the fee, and hands
 * the rest to the bridge.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as RouteLimits from "./RouteLimits.ts"
import * as RouteRouters from "./RouteRouters.ts"

const options = /* @__PURE__ */ EvmHex.Hex.check(
  /* @__PURE__ */ Schema.makeFilter((hex: EvmHex.Hex) => RouteLimits.isOptions(hex), {
    expected: "at most 256 bytes"
  })
)

/** The number of a chain on the bridge: LayerZero's endpoint id, or CCTP's domain. */
export const EndpointId = /* @__PURE__ */ Schema.Int.check(
  /* @__PURE__ */ Schema.isBetween({ minimum: 0, maximum: RouteLimits.mostEndpointId })
)

/** The executor's options, or CCTP's least finality, as they travel. */
export const Options = options

/** A route, decoded from its wire form: amounts are decimal strings in the token's smallest unit. */
export const BridgeRoute = /* @__PURE__ */ Schema.Struct({
  token: EvmAddress.FromText,
  /** The token's OFT on this chain, or CCTP's messenger. */
  bridge: EvmAddress.FromText,
  destination: EndpointId,
  recipient: EvmAddress.FromText,
  /** The amount that is sent over the bridge. */
  amount: Amount.FromText,
  /** The least amount that arrives. */
  minimum: Amount.FromText,
  /** The amount that `feeRecipient` gets on this chain. */
  fee: Amount.FromText,
  feeRecipient: EvmAddress.FromText,
  options: Options,
  /** Binds the payment to what it pays for. */
  tag: EvmHex.Bytes32
})

export type BridgeRoute = typeof BridgeRoute.Type

const hashOf = (digits: string): EvmHex.Hex => EvmHex.fromBytes(keccak_256(EvmHex.toBytes(`0x${digits}`)))

/** The nonce that the payer signs: 24 bytes of a hash, and 8 zero bytes for tokens whose nonces are keyed sequences. */
export const nonceOf = (chainId: number, kind: RouteRouters.RouteKind, route: BridgeRoute): EvmHex.Hex => {
  const router = RouteRouters.routers[kind]
  const { amount, bridge, destination, fee, feeRecipient, minimum, options, recipient, tag, token } = route
  const words = [
    EvmHex.toWord(chainId),
    AbiEncoding.address(router.address),
    EvmHex.toWord(router.number),
    AbiEncoding.address(token),
    AbiEncoding.address(bridge),
    EvmHex.toWord(destination),
    AbiEncoding.address(recipient),
    ...[amount, minimum, fee].map(EvmHex.toWord),
    AbiEncoding.address(feeRecipient),
    hashOf(options.slice(2)).slice(2),
    tag.slice(2)
  ]
  return `0x${hashOf(words.join("")).slice(2, 50)}${"0".repeat(16)}`
}

/** Selector of `pay(address,uint256,uint256,bytes,(...))`. */
const paySelector = "0x3e65052a"

/** Its calldata; the signature has 65 bytes. */
export const encodePay = (
  { from, validAfter, validBefore }: Eip3009.TransferWithAuthorization,
  signature: EvmHex.Hex,
  route: BridgeRoute
): EvmHex.Hex =>
  `${paySelector}${AbiEncoding.parameters([
    AbiEncoding.address(from),
    EvmHex.toWord(validAfter),
    EvmHex.toWord(validBefore),
    AbiEncoding.bytes(signature),
    { tail: encodeRoute(route) }
  ])}`

const encodeRoute = (route: BridgeRoute): string =>
  AbiEncoding.parameters([
    AbiEncoding.address(route.token),
    AbiEncoding.address(route.bridge),
    EvmHex.toWord(route.destination),
    AbiEncoding.address(route.recipient),
    EvmHex.toWord(route.amount),
    EvmHex.toWord(route.minimum),
    EvmHex.toWord(route.fee),
    AbiEncoding.address(route.feeRecipient),
    AbiEncoding.bytes(route.options),
    route.tag.slice(2)
  ])

/** The part of a route that its message's price depends on, from calldata that `encodePay` has made; `undefined` for other data. */
export const sentBy = (
  data: EvmHex.Hex
): Pick<BridgeRoute, "amount" | "bridge" | "destination" | "minimum" | "options" | "recipient"> | undefined => {
  const words = data.slice(paySelector.length).match(/.{64}/g) ?? []
  const numberAt = (place: number) => BigInt(`0x${words[place] ?? "0"}`)
  const addressAt = (place: number) => EvmAddress.fromTail(`0x${words[place]}`)
  const start = Number(numberAt(4)) / 32
  const optionsAt = start + Number(numberAt(start + 8)) / 32
  const end = optionsAt + 1 + Math.ceil(Number(numberAt(optionsAt)) / 32)
  if (!data.startsWith(paySelector) || !Number.isInteger(end) || words.length < end) return undefined
  const optionDigits = words.slice(optionsAt + 1, end).join("")
  return {
    bridge: addressAt(start + 1),
    destination: Number(numberAt(start + 2)),
    recipient: addressAt(start + 3),
    amount: numberAt(start + 4),
    minimum: numberAt(start + 5),
    options: `0x${optionDigits.slice(0, 2 * Number(numberAt(optionsAt)))}`
  }
}

/** First topic of `Bridged(address indexed from, bytes32 indexed nonce, bytes32 indexed message, uint256 arriving)`. */
export const bridgedTopic = "0x3759f597f43bd0633e640eca7356e67acb8d52ef80e369fa82ae263a97ac671c"

/** The message of a payment on the bridge, and the least amount that arrives. CCTP names its messages later: zero. */
export interface BridgedMessage {
  readonly guid: EvmHex.Hex
  readonly arriving: bigint
}

/**
 * The place of the router's own event of an authorization among the logs of a transaction; -1 where there is none. Only that event proves
 * that the money is on its way: the payer can move it to the router under the same nonce by a plain transfer, and then it stays there.
 */
export const placeIn = (
  { from, nonce, to }: Pick<Eip3009.TransferWithAuthorization, "from" | "nonce" | "to">,
  logs: ReadonlyArray<EvmLog>
): number =>
  logs.findIndex(
    ({ address, data, topics }) =>
      address === to &&
      RouteRouters.kindAt(to) !== undefined &&
      topics[0] === bridgedTopic &&
      topics[1] === `0x${AbiEncoding.address(from)}` &&
      topics[2] === nonce &&
      EvmHex.isBytes32(data)
  )

/** The message that the router's event names. */
export const messageIn = (
  authorization: Parameters<typeof placeIn>[0],
  logs: ReadonlyArray<EvmLog>
): BridgedMessage | undefined => {
  const log = logs[placeIn(authorization, logs)]
  const guid = log?.topics[3]
  return log === undefined || guid === undefined ? undefined : { guid, arriving: BigInt(log.data) }
}

interface EvmLog {
  readonly address: EvmAddress.Address
  readonly topics: ReadonlyArray<EvmHex.Hex>
  readonly data: EvmHex.Hex
}
