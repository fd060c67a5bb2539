/**
 * The places of the Machine Payments Protocol in MCP (draft-payment-transport-mcp-00): the credential in a request's `_meta`,
 * the receipt in a result's, the challenges in the data of an error, or in the `_meta` of a result that is one. A challenge's
 * request is plain JSON there.
 */

/** The key of a credential. */
export const credentialKey = "org.paymentauth/credential"

/** The key of a receipt. */
export const receiptKey = "org.paymentauth/receipt"

/** The key of the challenges on a result. */
export const requiredKey = "org.paymentauth/payment-required"

/** The codes of JSON-RPC errors. */
export const codes = { required: -32_042, refused: -32_043, malformed: -32_602, internal: -32_603 } as const
