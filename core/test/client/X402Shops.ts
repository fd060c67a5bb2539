/**
 * The responses of shops that speak x402: both versions by hand, to the letter of what peers write, and nothing of it through
 * our own seller's code.
 */
import type * as Schema from "effect/Schema"

import * as Wallet from "./Wallet.ts"

export const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value), "utf8").toString("base64")

/** The content of a payment header. */
export const unbase64 = (text: string | undefined): Schema.JsonObject =>
  JSON.parse(Buffer.from(text ?? "", "base64").toString("utf8"))

export const transaction = `0x${"ab".repeat(32)}`

/** One kind of foreign shop. */
export interface X402Shop {
  readonly name: string
  readonly paymentHeader: string
  /** Demands a payment for these offers; for the one of one cent where nothing is said. `word` says why. */
  readonly demand: (offers?: ReadonlyArray<object>, word?: string) => Response
  readonly offer: (changes?: object) => object
  /** Serves what was paid, with a receipt. */
  readonly paid: (body?: string, receipt?: object) => Response
  /** The payment, as it must arrive: beside what was signed. */
  readonly envelope: (offer: object, payload: unknown) => object
}

const offerV2 = (changes: object = {}) => ({
  scheme: "exact",
  network: Wallet.network,
  amount: "10000",
  asset: Wallet.dollars.address,
  payTo: Wallet.payTo,
  maxTimeoutSeconds: 300,
  extra: { name: "USD Coin", version: "2" },
  ...changes
})

export const resource = { url: "https://shop.example/report", description: "Täglich — €", mimeType: "text/plain" }

/** A demand of version 2 with whatever fields it should have. */
export const demandV2 = (changes: object = {}): Response => {
  const request = { x402Version: 2, error: "Payment required", resource, accepts: [offerV2()], ...changes }
  return new Response("{}", { status: 402, headers: { "PAYMENT-REQUIRED": base64(request) } })
}

export const versionTwo: X402Shop = {
  name: "version 2",
  paymentHeader: "PAYMENT-SIGNATURE",
  offer: offerV2,
  demand: (accepts = [offerV2()], error = "Payment required") => demandV2({ accepts, error }),
  paid: (body = "the report", receipt = {}) => {
    const payer = "0x4444444444444444444444444444444444444444"
    const settled = { success: true, payer, transaction, network: Wallet.network, amount: "10000", ...receipt }
    return new Response(body, { headers: { "PAYMENT-RESPONSE": base64(settled) } })
  },
  envelope: (accepted, payload) => ({ x402Version: 2, payload, resource, accepted })
}

const offerV1 = (changes: object = {}) => ({
  scheme: "exact",
  network: "base",
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  description: "",
  mimeType: "",
  payTo: Wallet.payTo,
  maxTimeoutSeconds: 60,
  asset: Wallet.dollars.address,
  outputSchema: { input: { type: "http", method: "GET" } },
  extra: { name: "USD Coin", version: "2" },
  ...changes
})

export const versionOne: X402Shop = {
  name: "version 1",
  paymentHeader: "X-PAYMENT",
  offer: offerV1,
  demand: (accepts = [offerV1()], error = "X-PAYMENT header is required") =>
    Response.json({ x402Version: 1, error, accepts }, { status: 402 }),
  paid: (body = "the report", receipt = {}) => {
    const payer = "0x4444444444444444444444444444444444444444"
    const settled = { success: true, transaction, network: "base", payer, ...receipt }
    return new Response(body, { headers: { "X-PAYMENT-RESPONSE": base64(settled) } })
  },
  envelope: (_offer, payload) => ({ x402Version: 1, scheme: "exact", network: "base", payload })
}
