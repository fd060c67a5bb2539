/**
 * Payments that go on to another chain through the router, put together by hand as the others of a trial are: the nonce that is signed
 * is the hash of the route.
 */
import { type Address, encodeAbiParameters, type Hex, isHex, keccak256, parseAbiParameters } from "viem"

import * as TrialPayment from "../world/TrialPayment.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"

/** Where routes lead. */
export interface RouteMarket {
  readonly kind: "oft" | "cctp"
  readonly router: Address
  /** The token's lockbox on the first chain, or CCTP's messenger. */
  readonly bridge: Address
  readonly destination: number
  /** The second chain, and the token there. */
  readonly network: string
  readonly asset: Address
  readonly feeTo: Address
}

/**
 * The number of each router's kind, and the options that the facilitator quotes: for LayerZero's executor 200,000 gas for the receiver, and
 * for CCTP a fast attestation.
 */
const kinds = {
  oft: { number: 1n, options: `0x000301001101${200_000n.toString(16).padStart(32, "0")}` },
  cctp: { number: 2n, options: `0x${1_000n.toString(16).padStart(64, "0")}` }
} as const

/** The most that CCTP's issuer may take of an amount that arrives: it takes 1.3 basis points of all. */
const allowed = ({ kind }: RouteMarket, amount: bigint): bigint => (kind === "oft" ? 0n : amount / 5_000n + 2n)

/** The fee: fees for gas that a trial makes rise a hundredfold stay below it. */
const fee = 1_000_000_000n

/** Until 2100, in Unix seconds: a payment on record is shown again with its own offer. */
const quotedUntil = 4_102_444_800

const routeWords = parseAbiParameters(
  "uint256 chainId, address router, uint256 kind, address token, address bridge, uint256 destination, address recipient, uint256 amount, uint256 minimum, uint256 fee, address feeRecipient, bytes32 options, bytes32 tag"
)

/** Signs a payment by a route; its amount is of dollars, and what it is bound to is the route's tag. */
export const sign = async (
  market: TrialPayment.Market,
  to: RouteMarket,
  terms: TrialPayment.Terms,
  random: TrialRandom
): Promise<TrialPayment.TrialPayment> => {
  const { amount, payer, payTo: recipient } = terms
  const { nonce: tag, payload: bound } = TrialPayment.drawnNonce(terms, random)
  const { bridge, destination, feeTo: feeRecipient, kind, router } = to
  const { number, options } = kinds[kind]
  const sent = amount + allowed(to, amount)
  const route = { token: market.token.address, bridge, destination, recipient, amount: sent, minimum: amount, fee }
  const hash = keccak256(
    encodeAbiParameters(routeWords, [
      BigInt(market.chainId),
      router,
      number,
      route.token,
      bridge,
      BigInt(destination),
      recipient,
      sent,
      amount,
      fee,
      feeRecipient,
      keccak256(hexOf(options)),
      tag
    ])
  )
  const nonce = hexOf(`${hash.slice(0, 50)}${"0".repeat(16)}`)
  const onWire = { ...route, amount: `${sent}`, minimum: `${amount}`, fee: `${fee}`, feeRecipient, options, tag }
  const offered = {
    kind,
    network: to.network,
    asset: to.asset,
    payTo: recipient,
    bridge,
    destination,
    amount: `${sent}`,
    minimum: `${amount}`,
    fee: `${fee}`,
    feeTo: feeRecipient,
    options,
    quotedUntil
  }
  const total = { ...terms, payTo: router, amount: sent + fee }
  return TrialPayment.authorized(market, { ...total, payer }, nonce, "ReceiveWithAuthorization", {
    payload: { route: onWire, ...bound },
    extra: { assetTransferMethod: "route", route: offered }
  })
}

const hexOf = (text: string): Hex => {
  if (!isHex(text)) throw new Error(`${text} is not hexadecimal`)
  return text
}
