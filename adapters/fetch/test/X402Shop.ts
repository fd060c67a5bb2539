/**
 * A shop on a real socket that speaks x402, version 1 or 2, by hand and to the letter of what peers write; and the ledger
 * of the facilitator behind it, where each authorization can be settled once and stays settled.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import * as PaidShop from "./PaidShop.ts"

export type Version = 1 | 2

export const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64")

const payer = "0x4444444444444444444444444444444444444444"
const extra = { name: "USD Coin", version: "2" }
const resource = { url: "https://shop.example/report", description: "Report — daily", mimeType: "text/plain" }
const terms = { scheme: "exact", payTo: "0x1111111111111111111111111111111111111111", asset: PaidShop.asset, extra }

export const offers = {
  1: {
    ...terms,
    network: "base",
    maxAmountRequired: "10000",
    resource: resource.url,
    description: resource.description,
    mimeType: resource.mimeType,
    maxTimeoutSeconds: 60,
    outputSchema: { input: { type: "http", method: "GET" } }
  },
  2: { ...terms, network: PaidShop.network, amount: "10000", maxTimeoutSeconds: 60 }
} as const

const extensions = { bazaar: { info: { input: { type: "http" } }, schema: { $schema: "tomorrow" } } }

/** Answers 402 in the words of a version; `word` is the reason. */
export const demand = (version: Version, response: ServerResponse, word: string): void => {
  if (version === 1) {
    const body = JSON.stringify({ x402Version: 1, error: word, accepts: [offers[1]] })
    return void response.writeHead(402, { "content-type": "application/json; charset=utf-8" }).end(body)
  }
  const request = { x402Version: 2, error: word, resource, accepts: [offers[2]], extensions }
  response.writeHead(402, {
    "content-type": "application/json",
    "cache-control": "no-store",
    "payment-required": base64(request)
  })
  response.end("{}")
}

/** Serves, with the receipt of a version. */
export const serve = (version: Version, response: ServerResponse, transaction: string): void => {
  const receipts = {
    1: { "x-payment-response": base64({ success: true, transaction, network: "base", payer }) },
    2: {
      "payment-response": base64({ success: true, payer, transaction, network: PaidShop.network, amount: "10000" })
    }
  }
  response.writeHead(200, { "content-type": "text/plain", ...receipts[version] }).end("the report")
}

/** Handles a valid payment. `settle` returns the transaction, or `undefined` if the payment was used before. */
export type SettleHandler = (response: ServerResponse, settle: () => string | undefined) => void

/** Settles and serves, as shops do; a payment that was used before is refused. */
export const selling =
  (version: Version, used = "invalid_exact_evm_nonce_already_used"): SettleHandler =>
  (response, settle) => {
    const transaction = settle()
    if (transaction === undefined) demand(version, response, used)
    else serve(version, response, transaction)
  }

export interface X402Shop {
  readonly origin: string
  /** The nonces that were settled: each is a transfer. */
  readonly transfers: ReadonlySet<string>
  /** The payment headers that arrived, in order. */
  readonly payments: ReadonlyArray<string>
  [Symbol.asyncDispose](): Promise<void>
}

const headers = { 1: "x-payment", 2: "payment-signature" } as const

/** The nonce of a payment, if it is what a peer's server takes: version 2 compares the offer and what stands beside it. */
const nonceOf = (version: Version, text: string): string | undefined => {
  const payment = JSON.parse(Buffer.from(text, "base64").toString("utf8"))
  const { payload, ...envelope } = payment
  const expected = {
    1: { x402Version: 1, scheme: "exact", network: "base" },
    2: { x402Version: 2, extensions, resource, accepted: offers[2] }
  }[version]
  return JSON.stringify(envelope) === JSON.stringify(expected) ? payload.nonce : undefined
}

/** Opens a shop on a free port of this machine. */
export const open = async (version: Version, settle: SettleHandler = selling(version)): Promise<X402Shop> => {
  const transfers = new Set<string>()
  const payments: Array<string> = []
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const text = request.headers[headers[version]]
    if (typeof text !== "string") {
      return demand(version, response, version === 1 ? "X-PAYMENT header is required" : "Payment required")
    }
    payments.push(text)
    const nonce = nonceOf(version, text)
    if (nonce === undefined) return demand(version, response, "No matching payment requirements")
    settle(response, () => {
      if (transfers.has(nonce)) return undefined
      transfers.add(nonce)
      return `0x${nonce}`
    })
  }
  const server = createServer(handle)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    transfers,
    payments,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
