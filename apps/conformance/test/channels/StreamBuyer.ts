/**
 * A buyer of metered streams by its bytes: it signs each message itself, so that a test may send any voucher at any moment, and stop
 * reading at any byte.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { ChannelConfig, ChannelDeposit, ChannelPayload, EvmAddress, Voucher } from "@pontage/evm"
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from "@x402/core/http"
import { bytesToHex, type Hex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import type { Shop } from "./ChannelShopTrial.ts"

/** The name of the token's domain, and its version. */
type Domain = Readonly<Record<"name" | "version", string>>

/** An offer, as far as the buyer reads it. */
export type Offer = ReturnType<typeof decodePaymentRequiredHeader>["accepts"][number]

const addressOf = (text: string) => EvmAddress.fromText(text) ?? EvmAddress.zero

/** An event of a stream. */
export interface StreamEvent {
  readonly name: string
  readonly data: string
}

/** Reads whole events off a text; the rest is not complete yet. */
export const eventsIn = (text: string): ReadonlyArray<StreamEvent> =>
  text
    .split("\n\n")
    .slice(0, -1)
    .flatMap((block) => {
      const field = (name: string) =>
        block
          .split("\n")
          .filter((line) => line.startsWith(`${name}: `))
          .map((line) => line.slice(name.length + 2))
          .join("\n")
      return block.startsWith(":") ? [] : [{ name: field("event"), data: field("data") }]
    })

const offerOf = async (url: string): Promise<Offer> => {
  const refusal = await fetch(url)
  await refusal.arrayBuffer()
  const [offer] = decodePaymentRequiredHeader(refusal.headers.get("payment-required") ?? "").accepts
  if (offer === undefined) throw new Error(`nothing is offered at ${url}`)
  return offer
}

/** The messages of one payer. */
export const make = (shop: Pick<Shop, "chain" | "origin">, key: Hex) => {
  const account = privateKeyToAccount(key)
  const { chainId } = shop.chain.node

  const configOf = ({ asset, extra, payTo }: Offer): ChannelConfig.ChannelConfig => ({
    payer: addressOf(account.address),
    payerAuthorizer: addressOf(account.address),
    receiver: addressOf(payTo),
    receiverAuthorizer: addressOf(String(extra["receiverAuthorizer"])),
    token: addressOf(asset),
    withdrawDelay: Number(extra["withdrawDelay"]),
    salt: `0x${"0".repeat(64)}`
  })

  const voucherOf = async (offer: Offer, maximum: bigint) => {
    const config = configOf(offer)
    const ceiling = { channelId: ChannelConfig.id(chainId, config), maxClaimableAmount: maximum }
    const signature = await account.signTypedData(Voucher.typedData(chainId, ceiling))
    return { type: "voucher", ...ChannelPayload.channelOnWire(config, { ...ceiling, signature }) }
  }

  const depositOf = async (offer: Offer, maximum: bigint, amount: bigint) => {
    const config = configOf(offer)
    const { name, version } = offer.extra as unknown as Domain
    const salt = bytesToHex(crypto.getRandomValues(new Uint8Array(32)))
    const until = Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds
    const terms = { salt, validAfter: 0n, validBefore: BigInt(until) }
    const domain = { name, version, chainId, verifyingContract: config.token }
    const id = ChannelConfig.id(chainId, config)
    const authorization = ChannelDeposit.authorization(id, config.payer, amount, terms)
    const signature = await account.signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
    const erc3009Authorization = { validAfter: "0", validBefore: `${until}`, salt, signature }
    const deposit = { amount: `${amount}`, authorization: { erc3009Authorization } }
    return { ...(await voucherOf(offer, maximum)), type: "deposit", deposit }
  }

  const headerOf = (offer: Offer, payload: object): Readonly<Record<string, string>> => ({
    "payment-signature": encodePaymentSignatureHeader({
      x402Version: 2,
      resource: { url: shop.origin, description: "", mimeType: "" },
      accepted: offer,
      payload: { ...payload }
    })
  })

  return {
    account,
    network: BaseSepolia.network,
    offerOf,
    configOf,
    idOf: (offer: Offer) => ChannelConfig.id(chainId, configOf(offer)),
    voucherOf,
    depositOf,
    headerOf,
    /** Sends a payload with a request. */
    request: (url: string, offer: Offer, payload: object, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: headerOf(offer, payload) }),
    /** Sends a payload to the voucher URL. */
    post: (offer: Offer, payload: object) =>
      fetch(`${shop.origin}${(offer.extra["metered"] as { voucherUrl: string }).voucherUrl}`, {
        method: "POST",
        headers: headerOf(offer, payload)
      })
  }
}

/** The messages of one payer. */
export type StreamBuyer = ReturnType<typeof make>

/** Reads a stream by its parts. */
export const readerOf = (response: Response) => {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
  const utf8 = new TextDecoder()
  let text = ""
  let isOver = false
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read()
    if (done) isOver = true
    else text += utf8.decode(value, { stream: true })
    return !done
  }
  return {
    text: () => text,
    isOver: () => isOver,
    events: () => eventsIn(text),
    /** Reads until the text holds what is wanted, or ends. */
    until: async (isEnough: (events: ReadonlyArray<StreamEvent>, text: string) => boolean): Promise<void> => {
      // oxlint-disable-next-line no-await-in-loop -- parts arrive one after another
      while (!isEnough(eventsIn(text), text) && (await more())) continue
    },
    cut: () => reader.cancel()
  }
}
