/**
 * Where x402 version 2 travels in MCP: the payment in a request's `_meta`, the receipt in a result's, each as plain JSON
 * (x402 specification version 2, MCP transport, tool-result binding).
 */

/** The key of a payment. */
export const paymentKey = "x402/payment"

/** The key of a receipt. */
export const receiptKey = "x402/payment-response"

/** A value's JSON text; `undefined` for what has none, or is nested deeper than can be written. */
export const textOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
