/** The dialects of a payer, together: a response is read by the first of them that recognises it. */
import { mppPayer } from "./mpp/MppPayer.ts"
import type { ResponseHead, HeaderFields, SentHeaders, PayerDialect } from "./pontage/Dialect.ts"
import { protocolPayer } from "./pontage/ProtocolPayer.ts"
import { x402v1Payer } from "./x402/X402v1Payer.ts"
import { x402v2Payer } from "./x402/X402v2Payer.ts"

/** All dialects, Pontage's own first: it says most about the state of a payment. */
export const usual: ReadonlyArray<PayerDialect> = [protocolPayer, x402v2Payer, mppPayer, x402v1Payer]

/** The request headers that carry the payments of these dialects, each once. */
export const headersOf = (dialects: ReadonlyArray<PayerDialect>): ReadonlyArray<string> => {
  const names = dialects.flatMap(({ otherHeader, paymentHeader }) => [paymentHeader, otherHeader ?? paymentHeader])
  return names.filter((name, at) => names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === at)
}

/** Whether a request with these headers carries a payment of one of the dialects. */
export const isPaid = (dialects: ReadonlyArray<PayerDialect>, header: ResponseHead["header"]): boolean =>
  dialects.some(({ otherHeader, paymentHeader, recognises = () => true }) =>
    [paymentHeader, otherHeader].some((name) => {
      const text = name === undefined ? null : header(name)
      return text !== null && recognises(text)
    })
  )

/** The dialects that may have made a payment with these headers; several share a header. */
export const ofPayment = (
  dialects: ReadonlyArray<PayerDialect>,
  headers: HeaderFields
): ReadonlyArray<PayerDialect> => {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  return dialects.filter((dialect) => headersOf([dialect]).some((name) => names.has(name.toLowerCase())))
}

/** The first receipt that one of the dialects finds on a response. */
export const readReceipt = (
  dialects: ReadonlyArray<PayerDialect>,
  header: ResponseHead["header"],
  paid?: SentHeaders
) => {
  for (const dialect of dialects) {
    const receipt = dialect.readReceipt(header, paid)
    if (receipt !== undefined) return receipt
  }
  return undefined
}
