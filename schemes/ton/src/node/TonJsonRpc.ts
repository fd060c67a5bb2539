/**
 * One question to a node's HTTP API (toncenter v2). What is not a well-formed answer is `ChainUnavailable`; the node's own
 * refusal is a value.
 */
import { ChainNodeClient, type ChainUnavailable, type HttpOrigin, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/**
 * How a node is reached: `url` is the JSON-RPC address, for example `https://toncenter.com/api/v2/jsonRPC`; `onRequest` is
 * told the method.
 */
export interface Options extends Omit<ChainNodeClient.Options, "headers"> {
  /** Sent as `X-API-Key`. Never shown in a message. */
  readonly apiKey?: string
}

const { headers: _, ...shared } = ChainNodeClient.keys

const check = OptionCheck.options<Options>({ ...shared, apiKey: OptionCheck.optional(OptionCheck.text) })

/** Asks: the node's result, or its refusal in its words. */
export type Ask = (
  method: string,
  params: Readonly<Record<string, unknown>>
) => Effect.Effect<Result.Result<unknown, string>, ChainUnavailable>

/** The longest answer that is read, in bytes. */
export const maximumBytes = 4_194_304

const Answer = Schema.Union([
  Schema.Struct({ ok: Schema.Literal(true), result: Schema.Unknown }),
  Schema.Struct({ ok: Schema.Literal(false), error: Schema.String, code: Schema.optionalKey(Schema.Number) })
])

const decodeAnswer = Schema.decodeUnknownResult(Answer)

/** What a node says when it does not answer: no verdict about what was asked. */
const isNoAnswer = (code: number): boolean =>
  code === 401 || code === 403 || code === 429 || code === 502 || code === 503

type Answered = Result.Result<unknown, string>

/** The answer to one question; or what was wrong with it, without a subject. */
const read = (
  { body, status }: HttpOrigin.HttpResponse,
  quote: (words: string) => string
): Result.Result<Answered, string> => {
  if (isNoAnswer(status)) return Result.fail(`answered HTTP ${status}`)
  const json = ChainNodeClient.readJson(body)
  if (Result.isFailure(json)) return Result.fail(json.failure)
  const answer = decodeAnswer(json.success)
  if (Result.isFailure(answer)) return Result.fail(`answered HTTP ${status} and something that is no answer`)
  if (answer.success.ok) return Result.succeed(Result.succeed(answer.success.result))
  if (isNoAnswer(answer.success.code ?? 0)) return Result.fail(`answered with the code ${answer.success.code}`)
  return Result.succeed(Result.fail(quote(answer.success.error)))
}

/**
 * Makes the function that asks.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Ask, Misconfigured> {
  const { apiKey, ...node } = yield* Effect.fromResult(OptionCheck.read(check, options, "the RPC"))
  const headers = apiKey === undefined ? undefined : { "x-api-key": apiKey }
  const { quote, send } = yield* ChainNodeClient.make({ ...node, ...(headers && { headers }) }, maximumBytes)
  return (method, params) =>
    send({ name: method, body: { jsonrpc: "2.0", id: "1", method, params } }, (answer) => read(answer, quote))
})
