/**
 * The payer's dialect of x402 version 2 over MCP. The paying client reads HTTP responses, so a tool's result is
 * converted to one: 402 (or 409) for a payment request; 400 for an error whose receipt says that it was sold as it is,
 * or that the payment is good for other arguments; 500 for another error; 200 otherwise; with the receipt as a header.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Shape from "../../protocol/Shape.ts"
import { depthOf } from "../../protocol/text/JsonDepth.ts"
import * as AsciiJson from "../http/AsciiJson.ts"
import type { HeaderFields, PayerDialect, ReadReceipt } from "../pontage/Dialect.ts"
import { paymentKey, receiptKey, textOf } from "./X402Meta.ts"
import { fromJson, outcomeFromJson, receiptFromJson, wordsOf } from "./X402v2Payer.ts"

/** The receipt's key as a header's name, which has no slash. */
const receiptHeader = receiptKey.replace("/", "-")

/** Maximum length and nesting of a text that is searched for a payment request. */
const maximumTextLength = 64 * 1024
const maximumDepth = 32

/** The parts of a tool's result that are read. */
export interface ToolResponse {
  readonly isError?: boolean | undefined
  readonly structuredContent?: unknown
  readonly content?: unknown
  readonly _meta?: unknown
}

/**
 * A tool's result as an HTTP response. Its body is the payment request, if it is one, and empty otherwise; `others` are the
 * receipts of other protocols.
 */
export const toResponse = (response: ToolResponse, others: HeaderFields = {}): Response => {
  const receipt = receiptIn(response)
  const headers = { ...others, ...(receipt !== undefined && { [receiptHeader]: AsciiJson.escape(receipt) }) }
  const request = requestIn(response)
  if (request !== undefined) return new Response(request, { status: statusOf(request), headers })
  const failure = isServed(receipt) || readReceipt(receipt)?.ifRefused !== undefined ? 400 : 500
  return new Response(null, { status: response.isError === true ? failure : 200, headers })
}

const isServed = (receipt: string | undefined): boolean => {
  const said = receipt === undefined ? undefined : parse(receipt)
  return Shape.isObject(said) && said["served"] === true
}

/**
 * The status of a payment request. A Pontage server says by the status over HTTP, and here by a word, that a payment is
 * good for nothing more.
 */
const statusOf = (request: string): 402 | 409 => {
  const words: unknown = JSON.parse(request)
  return Shape.isObject(words) && words["retry"] === "never" ? 409 : 402
}

/**
 * The JSON text of the payment request in a tool's result: its structured content, or else its first text. `undefined`
 * if it is not such a request, or is paid.
 */
export const requestIn = (response: ToolResponse): string | undefined => {
  if (response.isError !== true || receiptOf(response) !== undefined) return undefined
  const { content, structuredContent } = response
  if (isPaymentRequest(structuredContent)) return textOf(structuredContent)
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  const text = Shape.isObject(first) && first["type"] === "text" ? first["text"] : undefined
  return typeof text === "string" && isPaymentRequest(parse(text)) ? text : undefined
}

const receiptIn = ({ _meta }: ToolResponse): string | undefined => {
  if (!Shape.isObject(_meta) || !Object.hasOwn(_meta, receiptKey)) return undefined
  const text = textOf(_meta[receiptKey])
  return text === undefined || text.length > AsciiJson.maximumHeaderBytes ? undefined : text
}

const readReceipt = (text: string | undefined): ReadReceipt | undefined =>
  text === undefined ? undefined : receiptFromJson(parse(text))

/** The receipt on a tool's result, if it has one and it says that the money has moved. */
export const receiptOf = (response: ToolResponse): ReadReceipt | undefined => readReceipt(receiptIn(response))

const parse = (text: string): unknown => {
  if (text.length > maximumTextLength || depthOf(text) > maximumDepth) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isPaymentRequest = (value: unknown): value is Schema.JsonObject =>
  Shape.isObject(value) && value["x402Version"] === 2 && Array.isArray(value["accepts"])

/** The payment headers in the form of a request's `_meta`. */
export const metaOf = (headers: HeaderFields): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(headers).map(([key, text]) => [key, JSON.parse(text)]))

/** A Pontage server's sentence for the one word of the request. */
const sentenceIn = (body: unknown): string | undefined => {
  const sentence = Shape.isObject(body) ? body["message"] : undefined
  return typeof sentence === "string" ? sentence : undefined
}

/** The dialect. */
export const metaPayer: PayerDialect = {
  paymentHeader: paymentKey,
  isKnownByHead: true,
  mayRefuse: ({ status }) => status === 402 || status === 409,
  readRefusal: ({ header }, body) =>
    Result.map(
      fromJson(body, (error) => wordsOf(outcomeFromJson(parse(header(receiptHeader) ?? "")), body, error)),
      ({ payment, required }) => ({
        required: { ...required, error: sentenceIn(body) ?? required.error },
        paymentHeaders: (index, payload) => ({ [paymentKey]: JSON.stringify(payment(index, payload)) })
      })
    ),
  readReceipt: (header) => readReceipt(header(receiptHeader) ?? undefined)
}
