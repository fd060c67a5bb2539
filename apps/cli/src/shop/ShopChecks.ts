/** Checks of a shop's 402: the response, its dialects, its offers, pages of other origins, and payments that are none. */
import {
  isLoopback,
  type PayerDialect,
  PayerDialects,
  type PaymentClient,
  protocolPayer,
  type Quote,
  mppPayer,
  x402v1Payer,
  x402v2Payer
} from "@pontage/core"
import * as Result from "effect/Result"

import * as QuoteText from "../terminal/QuoteText.ts"
import * as SafeText from "../terminal/SafeText.ts"
import { advice, failed, passed, type ShopFinding } from "./ShopFinding.ts"
import * as ShopRequest from "./ShopRequest.ts"

type Findings = ReadonlyArray<ShopFinding>

/** The transport and the head of the unpaid response. */
export const head = (url: URL, { headers, status, text }: ShopRequest.ShopResponse): Findings => {
  const caching = headers.get("cache-control") ?? ""
  return [
    url.protocol === "https:" || isLoopback(url.hostname)
      ? passed("transport", url.protocol === "https:" ? "https" : "http on this machine")
      : failed("transport", "http: buyers pay over https only"),
    status === 402 ? passed("status", "402 Payment Required") : failed("status", statusFault(status)),
    text === undefined ? failed("body", "not text of at most 64 KiB") : passed("body", `${text.length} characters`),
    /no-store|no-cache|private/i.test(caching)
      ? passed("caching", caching)
      : failed("caching", "no Cache-Control: no-store; a cache may give one buyer's 402 to another")
  ]
}

const statusFault = (status: number): string => {
  if (status < 300) return `${status}: the resource is served without a payment`
  if (status < 400) return `${status}: redirected; validate the URL that it leads to`
  if (status === 503) return "503: the shop is not on sale; its log says why"
  return `${status}: expected 402`
}

const names: ReadonlyMap<PayerDialect, string> = new Map([
  [protocolPayer, "pontage"],
  [x402v2Payer, "x402 v2"],
  [mppPayer, "MPP"],
  [x402v1Payer, "x402 v1"]
])

const headOf = ({ headers, status }: ShopRequest.ShopResponse) => ({
  status,
  header: (name: string) => headers.get(name)
})

/** The dialects in which the refusal can be read. */
export const dialects = (response: ShopRequest.ShopResponse): Findings => {
  const json = ShopRequest.jsonOf(response)
  const found = PayerDialects.usual.map((dialect) => {
    const name = names.get(dialect) ?? dialect.paymentHeader
    const at = headOf(response)
    const refusal = dialect.mayRefuse(at) ? dialect.readRefusal(at, json) : undefined
    if (refusal === undefined) return advice(name, "not offered")
    if (Result.isFailure(refusal)) return failed(name, SafeText.line(refusal.failure.message, 300))
    const { accepts } = refusal.success.required
    const text = `${accepts.length} ${accepts.length === 1 ? "offer" : "offers"}`
    return accepts.length === 0 ? failed(name, "no offer that can be read") : passed(name, text)
  })
  const none = failed("dialects", "no buyer of Pontage, x402 or MPP can read this response")
  return found.some(({ verdict }) => verdict === "passed") ? found : [...found, none]
}

const dearDollars = 100n

/** The offers as a buyer with every token of the tables would judge them. */
export const offers = (url: URL, quotation: PaymentClient.Quotation | undefined): Findings => {
  if (quotation === undefined) return [failed("offers", "none")]
  const { declined, payable } = quotation
  return [
    ...payable.flatMap((quote) => offer(url, quote)),
    ...declined.map(({ message, rule }) => failed(`offer (${rule})`, SafeText.line(message, 300)))
  ]
}

const offer = (url: URL, quote: Quote): Findings => {
  const { amount, asset, requirements } = quote
  const { description, maxTimeoutSeconds, payTo, resource } = requirements
  const check = `offer on ${asset.network}`
  const isDear = asset.dollar && amount > dearDollars * 10n ** BigInt(asset.decimals)
  const origin = URL.canParse(resource) ? new URL(resource).origin : "no URL"
  return [
    passed(check, `${QuoteText.price(quote)} to ${SafeText.line(payTo)}`),
    ...(amount === 0n ? [failed(check, "the price is zero: the route could be free")] : []),
    ...(isDear ? [advice(check, `more than $${dearDollars}: is the price in dollars?`)] : []),
    ...(/^(?:0x)?0+$/.test(payTo.replace(/^0:/, "")) ? [failed(check, "the payee is the zero address")] : []),
    ...(origin === url.origin || resource === ""
      ? []
      : [failed(check, `it names the resource ${SafeText.line(resource)}, not ${url.origin}: is "origin" right?`)]),
    ...(description === undefined || description === "" ? [advice(check, "no description")] : []),
    ...(description !== undefined && SafeText.line(description, 10_000) !== description.replaceAll(/\s+/g, " ").trim()
      ? [failed(check, "the description holds control characters")]
      : []),
    ...(maxTimeoutSeconds !== undefined && maxTimeoutSeconds < 20
      ? [advice(check, `a payment is valid for ${maxTimeoutSeconds} s only: slow wallets miss it`)]
      : [])
  ]
}

const page = "https://a-page.example"
const listed = (headers: Headers, name: string): ReadonlyArray<string> =>
  (headers.get(name) ?? "").split(",").map((text) => text.trim().toLowerCase())

/** Whether pages of other origins can pay: the preflight, and the headers that they may read. */
export const crossOrigin = async (url: URL, method: string, signal: AbortSignal): Promise<Findings> => {
  const unpaid = await ShopRequest.send(url, { method, headers: { origin: page } }, signal)
  const offered = PayerDialects.usual.filter(
    ({ mayRefuse, recognises }) => recognises === undefined || mayRefuse(headOf(unpaid))
  )
  const payment = offered.map(({ paymentHeader }) => paymentHeader.toLowerCase())
  const asked = [...new Set(payment)].join(", ")
  const preflight = await ShopRequest.send(
    url,
    {
      method: "OPTIONS",
      headers: { origin: page, "access-control-request-method": method, "access-control-request-headers": asked }
    },
    signal
  )
  const isAllowed = (headers: Headers) => ["*", page].includes(headers.get("access-control-allow-origin") ?? "")
  if (!isAllowed(preflight.headers)) {
    return [
      advice("CORS", "pages of other origins cannot pay; if they should, let your CORS middleware answer OPTIONS")
    ]
  }
  const allowed = listed(preflight.headers, "access-control-allow-headers")
  // The wildcard never stands for Authorization.
  const isNamed = (name: string) => allowed.includes(name) || (allowed.includes("*") && name !== "authorization")
  const refused = payment.filter((name) => !isNamed(name))
  return [
    refused.length === 0
      ? passed("CORS", "the preflight allows the payment headers")
      : failed("CORS", `the preflight does not allow ${[...new Set(refused)].join(", ")}`),
    isAllowed(unpaid.headers)
      ? passed("CORS", "pages can read the 402")
      : failed("CORS", "the 402 itself has no Access-Control-Allow-Origin, so that pages cannot read it")
  ]
}

const falsePayment = (header: string): string =>
  /authorization$/i.test(header) ? "Payment bm8gcGF5bWVudA" : "bm8gcGF5bWVudA=="

/** Payments that are none: they must be refused, and not by a fault of the server. */
export const falsePayments = async (url: URL, method: string, signal: AbortSignal): Promise<Findings> => {
  const headers = PayerDialects.headersOf(PayerDialects.usual)
  const findings: Array<ShopFinding> = []
  for (const name of headers) {
    // oxlint-disable-next-line no-await-in-loop -- a small shop is not asked twice at once
    const { status } = await ShopRequest.send(url, { method, headers: { [name]: falsePayment(name) } }, signal)
    const check = `false ${name}`
    if (status < 300) findings.push(failed(check, `${status}: the resource is given away`))
    else if (status >= 500) findings.push(failed(check, `${status}: expected a refusal (402 or 400)`))
    else findings.push(passed(check, `refused with ${status}`))
  }
  return findings
}

/** Whether machines find the offer in the shop's OpenAPI document. */
export const discovery = async (url: URL, signal: AbortSignal): Promise<Findings> => {
  const found = await ShopRequest.send(new URL("/openapi.json", url), { method: "GET" }, signal)
  if (found.status !== 200) return [advice("discovery", "no /openapi.json: agents do not find the prices")]
  const isPriced = found.text === undefined || found.text.includes('"x-payment-info"')
  return [
    isPriced
      ? passed("discovery", "/openapi.json")
      : advice("discovery", "/openapi.json names no price (x-payment-info)")
  ]
}
