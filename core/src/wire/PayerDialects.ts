/** The dialects of a payer, together: a response is read by the first of them that recognises it. */
import type { ResponseHead, HeaderFields, PayerDialect } from "./pontage/Dialect.ts"
import { protocolPayer } from "./pontage/ProtocolPayer.ts"
import { x402v1Payer } from "./x402/X402v1Payer.ts"
import { x402v2Payer } from "./x402/X402v2Payer.ts"

/** All dialects, Pontage's own first: it says most about the state of a payment. */
export const usual: ReadonlyArray<PayerDialect> = [protocolPayer, x402v2Payer, x402v1Payer]

/** The dialects that may have made a payment with these headers; several share a header. */
export const ofPayment = (
  dialects: ReadonlyArray<PayerDialect>,
  headers: HeaderFields
): ReadonlyArray<PayerDialect> => {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  return dialects.filter(({ paymentHeader }) => names.has(paymentHeader.toLowerCase()))
}

/** The first receipt that one of the dialects finds on a response. */
export const readReceipt = (dialects: ReadonlyArray<PayerDialect>, header: ResponseHead["header"]) => {
  for (const dialect of dialects) {
    const receipt = dialect.readReceipt(header)
    if (receipt !== undefined) return receipt
  }
  return undefined
}
