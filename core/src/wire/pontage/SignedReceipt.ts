/**
 * A receipt as buyers of x402 read it: it says who paid for which resource, by which transaction, and when, and is signed by
 * the shop as EIP-712 typed data (x402 extension `offer-receipt`, version 1). `PurchaseReceipt` says more.
 */
import * as Schema from "effect/Schema"

import { domainOf, messageOf, type TypedStatement } from "./TypedStatement.ts"

/** The statement. The fields, their order and their spelling are those of x402. */
export const ReceiptStatement = /* @__PURE__ */ Schema.Struct({
  version: /* @__PURE__ */ Schema.Literal(1),
  network: Schema.String,
  /** The URL of the paid request, with its query. */
  resourceUrl: Schema.String,
  payer: Schema.String,
  /** Unix seconds. */
  issuedAt: Schema.Int,
  /** The transaction that moved the money, in the chain's own form; empty if the shop names none. */
  transaction: Schema.String
})

export type ReceiptStatement = typeof ReceiptStatement.Type

/** The statement with its signature: 65 bytes in hexadecimal digits. */
export const SignedReceipt = /* @__PURE__ */ Schema.Struct({
  format: /* @__PURE__ */ Schema.Literal("eip712"),
  payload: ReceiptStatement,
  signature: Schema.String
})

export type SignedReceipt = typeof SignedReceipt.Type

/** The EIP-712 domain. */
export const domain = /* @__PURE__ */ domainOf("x402 receipt")

/** The EIP-712 types. */
export const types = {
  Receipt: [
    { name: "version", type: "uint256" },
    { name: "network", type: "string" },
    { name: "resourceUrl", type: "string" },
    { name: "payer", type: "string" },
    { name: "issuedAt", type: "uint256" },
    { name: "transaction", type: "string" }
  ]
} as const

/** The typed data that the shop signs. */
export const typed = (statement: ReceiptStatement): TypedStatement => ({
  domain,
  types,
  primaryType: "Receipt",
  message: messageOf(statement)
})
