/**
 * An offer that the shop has signed: it cannot deny later that it sold this resource at this price (x402 extension
 * `offer-receipt`, version 1, EIP-712).
 */
import * as Schema from "effect/Schema"

import { domainOf, messageOf, type TypedStatement } from "./TypedStatement.ts"

/** The statement. The fields, their order and their spelling are those of x402. */
export const OfferStatement = /* @__PURE__ */ Schema.Struct({
  version: /* @__PURE__ */ Schema.Literal(1),
  /** The URL of the request, with its query. */
  resourceUrl: Schema.String,
  scheme: Schema.String,
  network: Schema.String,
  /** Address of the token. */
  asset: Schema.String,
  payTo: Schema.String,
  /** In the smallest unit of the asset. */
  amount: Schema.String,
  /** Unix seconds; 0 for no end. */
  validUntil: Schema.Int
})

export type OfferStatement = typeof OfferStatement.Type

/** The statement with its signature, 65 bytes in hexadecimal digits, and its place among the offers, which is not signed. */
export const SignedOffer = /* @__PURE__ */ Schema.Struct({
  format: /* @__PURE__ */ Schema.Literal("eip712"),
  acceptIndex: /* @__PURE__ */ Schema.optionalKey(Schema.Int),
  payload: OfferStatement,
  signature: Schema.String
})

export type SignedOffer = typeof SignedOffer.Type

/** The EIP-712 types. */
export const types = {
  Offer: [
    { name: "version", type: "uint256" },
    { name: "resourceUrl", type: "string" },
    { name: "scheme", type: "string" },
    { name: "network", type: "string" },
    { name: "asset", type: "string" },
    { name: "payTo", type: "string" },
    { name: "amount", type: "string" },
    { name: "validUntil", type: "uint256" }
  ]
} as const

/** The typed data that the shop signs. */
export const typed = (statement: OfferStatement): TypedStatement => ({
  domain: domainOf("x402 offer"),
  types,
  primaryType: "Offer",
  message: messageOf(statement)
})
