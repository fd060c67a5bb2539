/**
 * The requests of x402 servers, in both versions, as their published clients write it.
 */
import { payTo } from "./TestFacilitator.ts"

export const resource = "https://shop.example/weather"
export const asset = "0x3333333333333333333333333333333333333333"
const extra = { name: "USD Coin", version: "2" }
const signed = { signature: "0x12", authorization: { from: "0x2222222222222222222222222222222222222222" } }

export const offerV2 = {
  scheme: "exact",
  network: "eip155:8453",
  amount: "10000",
  asset,
  payTo,
  maxTimeoutSeconds: 300,
  extra
}

export const paymentV2 = {
  x402Version: 2,
  payload: signed,
  extensions: {},
  resource: { url: resource, description: "Weather", mimeType: "application/json" },
  accepted: offerV2
}

export const v2 = { x402Version: 2, paymentPayload: paymentV2, paymentRequirements: offerV2 }

export const offerV1 = {
  scheme: "exact",
  network: "base",
  maxAmountRequired: "10000",
  resource,
  description: "Weather",
  mimeType: "application/json",
  payTo,
  maxTimeoutSeconds: 60,
  asset,
  outputSchema: { input: { type: "http", method: "GET", discoverable: true } },
  extra
}

export const paymentV1 = { x402Version: 1, scheme: "exact", network: "base", payload: signed }

export const v1 = { x402Version: 1, paymentPayload: paymentV1, paymentRequirements: offerV1 }

export const payload = signed
