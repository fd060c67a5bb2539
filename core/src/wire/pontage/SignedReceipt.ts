/**
 * A receipt that anybody can verify without the shop: it says who paid for which resource, by which transaction, and when,
 * and is signed by the shop as EIP-712 typed data (x402 extension `offer-receipt`, version 1).
 */
import * as Schema from "effect/Schema"

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

/** The EIP-712 domain. It names chain 1 for receipts of every network, and no contract: a receipt itself names its network. */
export const domain = { name: "x402 receipt", version: "1", chainId: 1 } as const

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

/**
 * Signs a shop's receipts: `exactEvm.receiptSigner(privateKey)`. Buyers compare the signer of a receipt with `address`, which
 * the shop publishes. A signature that does not come within two seconds is left out of the response.
 */
export interface ReceiptSigner {
  readonly address: string
  readonly signReceipt: (statement: ReceiptStatement) => Promise<string>
}
