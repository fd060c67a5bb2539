/**
 * The payer's dialect of the Machine Payments Protocol over MCP. The paying client reads HTTP responses, so an error with
 * challenges, or a result that carries them, is converted to one.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Shape from "../../protocol/Shape.ts"
import { depthOf } from "../../protocol/text/JsonDepth.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import * as AsciiJson from "../http/AsciiJson.ts"
import type { HeaderFields, PayerDialect, ReadReceipt } from "../pontage/Dialect.ts"
import * as MppChallenge from "./MppChallenge.ts"
import * as MppCharge from "./MppCharge.ts"
import * as MppMeta from "./MppMeta.ts"
import * as MppPayer from "./MppPayer.ts"
import * as MppRefusal from "./MppRefusal.ts"

/** Names of headers have no slash. */
const receiptHeader = MppMeta.receiptKey.replace("/", "-")
const requiredHeader = MppMeta.requiredKey.replace("/", "-")

const maximumTextLength = 64 * 1024
const maximumDepth = 32

const textOf = (value: unknown): string | undefined => {
  try {
    const text = JSON.stringify(value)
    return text.length > maximumTextLength || depthOf(text) > maximumDepth ? undefined : text
  } catch {
    return undefined
  }
}

/** Whether the data of an error, or of a result, are of this protocol. */
const isRequired = (data: unknown): data is Schema.JsonObject =>
  Shape.isObject(data) && ((Array.isArray(data["challenges"]) && data["challenges"].length > 0) || isProblem(data))

const isProblem = (data: Schema.JsonObject): boolean => MppRefusal.isOf(data["problem"])

/** The response for the data of an error; `undefined` if it is not about a payment. */
export const fromError = (error: object): Response | undefined => {
  const { code, data }: { readonly code?: unknown; readonly data?: unknown } = error
  const isOurs = Object.values<unknown>(MppMeta.codes).includes(code)
  return isOurs ? toResponse(data) : undefined
}

/** The response for a result that demands a payment; `undefined` for any other. */
export const fromResult = (meta: unknown): Response | undefined =>
  Shape.isObject(meta) && Object.hasOwn(meta, MppMeta.requiredKey) ? toResponse(meta[MppMeta.requiredKey]) : undefined

const toResponse = (data: unknown): Response | undefined => {
  const text = isRequired(data) ? textOf(data) : undefined
  if (text === undefined || !isRequired(data)) return undefined
  const { httpStatus } = data
  const status =
    Number.isInteger(httpStatus) && Number(httpStatus) >= 400 && Number(httpStatus) <= 599 ? Number(httpStatus) : 402
  return new Response(text, { status, headers: { [requiredHeader]: "1" } })
}

/** The header of the receipt in a result's `_meta`; none without one. */
export const receiptHeaders = (meta: unknown): HeaderFields => {
  const text =
    Shape.isObject(meta) && Object.hasOwn(meta, MppMeta.receiptKey) ? textOf(meta[MppMeta.receiptKey]) : undefined
  return text === undefined || text.length > AsciiJson.maximumHeaderBytes
    ? {}
    : { [receiptHeader]: AsciiJson.escape(text) }
}

/** Parameters of a challenge whose request is plain JSON; its texts alone are read. */
const parametersOf = (challenge: unknown): MppChallenge.Parameters | string => {
  if (!Shape.isObject(challenge)) return "it is no object"
  const texts = Object.entries(challenge).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []))
  return { ...Object.fromEntries(texts), request: textOf(challenge["request"]) ?? "" }
}

const readRefusal: PayerDialect["readRefusal"] = ({ header }, body) => {
  if (header(requiredHeader) === null || !isRequired(body)) return undefined
  const { challenges, problem } = body
  const given: ReadonlyArray<unknown> = Array.isArray(challenges) ? challenges : []
  const checked = given.map((challenge) => ({ challenge, read: MppChallenge.of([parametersOf(challenge)]) }))
  const charges = checked
    .map(({ challenge, read }) => chargeOf(challenge, read.readable[0]))
    .filter((one) => one !== undefined)
  const fault = checked.find(({ read }) => read.fault !== undefined)?.read.fault
  if (charges.length === 0 && fault !== undefined) {
    return Result.fail(invalid("malformed", "payment_required", `the server's challenge cannot be read: ${fault}`))
  }
  return Result.succeed(MppPayer.refusalOf(charges, problem, carried))
}

const chargeOf = (challenge: unknown, parameters: MppChallenge.Parameters | undefined) =>
  parameters === undefined || !Shape.isObject(challenge)
    ? undefined
    : MppCharge.fromChallenge({ ...parameters, header: "Authorization" }, challenge["request"], () => challenge)

const carried: MppPayer.Carry = (_header, credential) => ({ [MppMeta.credentialKey]: JSON.stringify(credential) })

const parse = (text: string): unknown => Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))

const readReceipt: PayerDialect["readReceipt"] = (header, paid): ReadReceipt | undefined => {
  const text = header(receiptHeader)
  if (text === null) return undefined
  const credential = parse(paid?.headers[MppMeta.credentialKey] ?? "null")
  return MppPayer.receiptFromJson(parse(text), paid, credential)
}

/** The receipt in a result's `_meta`, if it has one that says that the money has moved, and on which chain. */
export const receiptOf = (meta: unknown): ReadReceipt | undefined => {
  const text = receiptHeaders(meta)[receiptHeader]
  return text === undefined ? undefined : MppPayer.receiptFromJson(parse(text), undefined, undefined)
}

/** The dialect. */
export const mppMetaPayer: PayerDialect = {
  paymentHeader: MppMeta.credentialKey,
  isKnownByHead: true,
  mayRefuse: ({ header, status }) => status >= 400 && header(requiredHeader) !== null,
  readRefusal,
  readReceipt
}
