/**
 * Offers, refusals and payments as published x402 packages write them, recorded from their own servers and clients.
 */
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequired } from "../../src/protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"

export const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value), "utf8").toString("base64")

export const unbase64 = (text: string | undefined): unknown =>
  JSON.parse(Buffer.from(text ?? "", "base64").toString("utf8"))

export const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
export const payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
export const payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"

export const requirements: PaymentRequirements = {
  scheme: "exact",
  network: Network.make("eip155:84532"),
  maxAmountRequired: "1000",
  resource: "https://shop.example/weather?city=Zürich",
  description: "Weather — today",
  mimeType: "application/json",
  payTo,
  maxTimeoutSeconds: 60,
  asset: usdc,
  extra: { name: "USDC", version: "2", challenge: "c".repeat(43) }
}

export const unpaid: PaymentRequired = { error: "Payment required: sign.", accepts: [requirements] }

/** The order of keys counts: these texts are compared as bytes with what peers write. */
export const offerV2 = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "1000",
  asset: usdc,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2", challenge: "c".repeat(43) }
}

export const requestV2 = {
  x402Version: 2,
  error: "Payment required",
  resource: {
    url: "https://shop.example/weather?city=Zürich",
    description: "Weather — today",
    mimeType: "application/json"
  },
  accepts: [offerV2]
}

/** The same as one payer gets it. */
export const requestTo = (retryToken: string) => ({
  ...requestV2,
  accepts: [{ ...offerV2, extra: { ...offerV2.extra, retryToken } }]
})

export const signed = {
  authorization: {
    from: payer,
    to: payTo,
    value: "1000",
    validAfter: "0",
    validBefore: "1740672154",
    nonce: "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"
  },
  signature:
    "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b571c"
}

export const paymentV2 = {
  x402Version: 2,
  payload: signed,
  resource: requestV2.resource,
  accepted: offerV2
}

export const offerV1 = {
  scheme: "exact",
  network: "base-sepolia",
  maxAmountRequired: "1000",
  resource: "https://shop.example/weather?city=Zürich",
  description: "Weather — today",
  mimeType: "application/json",
  payTo,
  maxTimeoutSeconds: 60,
  asset: usdc,
  extra: { name: "USDC", version: "2", challenge: "c".repeat(43) }
}

export const paymentV1 = { x402Version: 1, scheme: "exact", network: "base-sepolia", payload: signed }

export const settlement = {
  success: true,
  transaction: "0x89c91c789e57059b17285e7ba1716a1f5ff4c5dace0ea5a5135f26158d0421b9",
  network: "eip155:84532",
  payer,
  amount: "1000",
  paymentId: "pay_0123456789abcdefghijkl"
} as const
