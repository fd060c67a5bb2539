/**
 * One JSON-RPC 2.0 request to an EVM node. A refusal of the node is a value; anything else that is no answer to exactly this
 * request is `ChainUnavailable`.
 */
import { ChainNodeClient, type ChainUnavailable, type HttpOrigin, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** How a node is reached; `onRequest` is told the method. */
export type Options = ChainNodeClient.Options

const check = OptionCheck.options<Options>(ChainNodeClient.keys)

/**
 * The node's own refusal, well formed. `message` may be shown and stored; `words` are the same as the node wrote them, to be
 * recognised only: a secret that is part of an ordinary word is not hidden in them.
 */
export interface Refusal {
  readonly code: number
  readonly message: string
  readonly words: string
  readonly data: unknown
}

/** Sends a request: the node's result or its refusal. */
export type Send = (
  method: string,
  params: ReadonlyArray<unknown>
) => Effect.Effect<Result.Result<unknown, Refusal>, ChainUnavailable>

/** One node. `quote` makes its words fit to be shown. */
export interface EvmNode {
  readonly network: string
  readonly send: Send
  readonly quote: (words: string) => string
}

/** The longest answer that is read, in bytes. */
export const maximumBytes = 1_048_576

const Answer = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.Number,
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({ code: Schema.Number, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })
    )
  )
})

const decodeAnswer = Schema.decodeUnknownResult(Answer)

type Answered = Result.Result<unknown, Refusal>

/** The answer to one request; or what was wrong with it, without a subject. */
const read = (
  { body, status }: HttpOrigin.HttpResponse,
  expectedId: number,
  quote: EvmNode["quote"]
): Result.Result<Answered, string> => {
  const isRefusing = refusingStatuses.has(status)
  if ((status < 200 || status > 299) && !isRefusing) return Result.fail(`answered HTTP ${status}`)
  if (body._tag === "TooLong") return isRefusing ? Result.fail(`answered HTTP ${status}`) : tooLong
  const json = ChainNodeClient.readJson(body)
  if (Result.isFailure(json)) return Result.fail(json.failure)
  const decoded = decodeAnswer(json.success)
  if (Result.isFailure(decoded)) {
    return Result.fail(`answered something that is not JSON-RPC: ${decoded.failure.message}`)
  }
  const meaning = meant(decoded.success, expectedId, quote)
  const isResult = Result.isSuccess(meaning) && Result.isSuccess(meaning.success)
  return isRefusing && isResult ? Result.fail(`answered HTTP ${status}`) : meaning
}

/** Some nodes give a question that they refuse one of these, beside the refusal itself. */
const refusingStatuses: ReadonlySet<number> = new Set([400, 413])

const oversized = `it answered more than ${maximumBytes} bytes`

/** Not read, it is as good as refused: asked about less the node may answer. */
const tooLong: Result.Result<Answered, string> = Result.succeed(
  Result.fail({ code: -32_603, message: oversized, words: oversized, data: undefined })
)

const meant = (
  answer: typeof Answer.Type,
  expectedId: number,
  quote: EvmNode["quote"]
): Result.Result<Answered, string> => {
  const { error, id } = answer
  if (id !== expectedId) return Result.fail("answered another request")
  if (error) {
    const { code, data, message } = error
    const words = message.slice(0, ChainNodeClient.longestQuote)
    return Result.succeed(Result.fail({ code, message: quote(message), words, data }))
  }
  return "result" in answer
    ? Result.succeed(Result.succeed(answer.result))
    : Result.fail("answered neither a result nor an error")
}

/**
 * Makes the means to send. Nothing is sent yet.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<EvmNode, Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "the RPC"))
  const { network, quote, send } = yield* ChainNodeClient.make(options, maximumBytes)
  let lastId = 0
  return {
    network,
    quote,
    send: (method, params) =>
      Effect.suspend(() => {
        const id = ++lastId
        const body = { jsonrpc: "2.0", id, method, params }
        return send({ name: method, body }, (answer) => read(answer, id, quote))
      })
  }
})
