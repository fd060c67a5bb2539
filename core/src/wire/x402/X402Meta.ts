/**
 * The places of x402 version 2 in MCP: the payment in a request's `_meta`, the receipt in a result's, each as plain
 * JSON (x402 specification version 2, MCP transport, tool-result binding).
 */

/** The key of a payment. */
export const paymentKey = "x402/payment"

/** The key of a receipt. */
export const receiptKey = "x402/payment-response"

/** A value's JSON text; `undefined` for a value without one, or one that is nested too deep to be written. */
export const textOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
