/**
 * A receipt that anybody can verify without the shop: what was bought, for what, by which payment and transaction, and with which
 * response. The shop signs it as EIP-712 typed data (apps/docs/protocol.md#purchase-receipt), in every dialect.
 */
import * as Schema from "effect/Schema"

import { domainOf, messageOf, type TypedStatement } from "./TypedStatement.ts"

/** The statement. */
export const PurchaseStatement = /* @__PURE__ */ Schema.Struct({
  version: /* @__PURE__ */ Schema.Literal(1),
  /** Method of the paid request; `GET` for HEAD, `tools/call` for a tool. */
  method: Schema.String,
  /** The URL of the paid request, with its query. */
  resourceUrl: Schema.String,
  payer: Schema.String,
  payTo: Schema.String,
  network: Schema.String,
  /** Address of the token. */
  asset: Schema.String,
  /** In the smallest unit of the asset. */
  amount: Schema.String,
  /** The transaction that moved the money, in the chain's own form. */
  transaction: Schema.String,
  /** The payment's name, which no other payment has. */
  paymentId: Schema.String,
  /** Unix seconds. */
  issuedAt: Schema.Int,
  /** Status of the response; 0 if the receipt does not cover it. */
  responseStatus: Schema.Int,
  /** SHA-256 of the response's body, 64 lower-case hexadecimal digits; empty if the receipt does not cover it. */
  responseSha256: Schema.String
})

export type PurchaseStatement = typeof PurchaseStatement.Type

/** The format of these receipts; those of x402 have another one. */
export const format = "pontage-eip712"

/** The statement with its signature: 65 bytes in hexadecimal digits. */
export const PurchaseReceipt = /* @__PURE__ */ Schema.Struct({
  format: /* @__PURE__ */ Schema.Literal(format),
  payload: PurchaseStatement,
  signature: Schema.String
})

export type PurchaseReceipt = typeof PurchaseReceipt.Type

/** The EIP-712 types. */
export const types = {
  Purchase: [
    { name: "version", type: "uint256" },
    { name: "method", type: "string" },
    { name: "resourceUrl", type: "string" },
    { name: "payer", type: "string" },
    { name: "payTo", type: "string" },
    { name: "network", type: "string" },
    { name: "asset", type: "string" },
    { name: "amount", type: "string" },
    { name: "transaction", type: "string" },
    { name: "paymentId", type: "string" },
    { name: "issuedAt", type: "uint256" },
    { name: "responseStatus", type: "uint256" },
    { name: "responseSha256", type: "string" }
  ]
} as const

/** The typed data that the shop signs. */
export const typed = (statement: PurchaseStatement): TypedStatement => ({
  domain: domainOf("Pontage receipt"),
  types,
  primaryType: "Purchase",
  message: messageOf(statement)
})

/** The key of the extension by which x402 responses carry the receipt, and its place there. */
export const extensionKey = "pontage-receipt"
