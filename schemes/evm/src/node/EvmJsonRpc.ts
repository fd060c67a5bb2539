/**
 * JSON-RPC 2.0 requests to an EVM node. An error object in the node's response is a value; any other response that does not
 * match the request is `ChainUnavailable`.
 */
import { ChainNodeClient, type ChainUnavailable, type HttpOrigin, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** The connection to a node; `onRequest` is called with the method. */
export type Options = ChainNodeClient.Options

const check = OptionCheck.options<Options>(ChainNodeClient.keys)

/**
 * The node's well-formed error object. `message` may be shown and stored; `rawMessage` is the same text as the node wrote it,
 * for recognition only: a secret that is part of an ordinary word is not hidden in it.
 */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly rawMessage: string
  readonly data: unknown
}

/** Sends a request: the node's result or its error. */
export type Send = (
  method: string,
  params: ReadonlyArray<unknown>
) => Effect.Effect<Result.Result<unknown, RpcError>, ChainUnavailable>

/** One node. `quote` makes its text safe to show. */
export interface EvmNode {
  readonly network: string
  readonly send: Send
  readonly quote: (text: string) => string
}

/** The largest response accepted, in bytes. */
export const maximumBytes = 1_048_576

const RpcResponse = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.Number,
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({ code: Schema.Number, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })
    )
  )
})

const decodeResponse = Schema.decodeUnknownResult(RpcResponse)

type RpcResult = Result.Result<unknown, RpcError>

/** The result of one request; or the fault of the response, as a sentence without its subject. */
const read = (
  { body, status }: HttpOrigin.HttpResponse,
  expectedId: number,
  quote: EvmNode["quote"]
): Result.Result<RpcResult, string> => {
  const isRefusing = refusingStatuses.has(status)
  if ((status < 200 || status > 299) && !isRefusing) return Result.fail(`responded with HTTP ${status}`)
  if (body._tag === "TooLong") return isRefusing ? Result.fail(`responded with HTTP ${status}`) : tooLong
  const json = ChainNodeClient.readJson(body)
  if (Result.isFailure(json)) return Result.fail(json.failure)
  const decoded = decodeResponse(json.success)
  if (Result.isFailure(decoded)) {
    return Result.fail(`responded with something that is not JSON-RPC: ${decoded.failure.message}`)
  }
  const result = resultOf(decoded.success, expectedId, quote)
  const isSuccess = Result.isSuccess(result) && Result.isSuccess(result.success)
  return isRefusing && isSuccess ? Result.fail(`responded with HTTP ${status}`) : result
}

/** Some nodes send an error object with one of these statuses. */
const refusingStatuses: ReadonlySet<number> = new Set([400, 413])

const oversized = `it responded with more than ${maximumBytes} bytes`

/** An oversized response is not read and counts as the node's error: a request for less may succeed. */
const tooLong: Result.Result<RpcResult, string> = Result.succeed(
  Result.fail({ code: -32_603, message: oversized, rawMessage: oversized, data: undefined })
)

const resultOf = (
  response: typeof RpcResponse.Type,
  expectedId: number,
  quote: EvmNode["quote"]
): Result.Result<RpcResult, string> => {
  const { error, id } = response
  if (id !== expectedId) return Result.fail("responded with another request")
  if (error) {
    const { code, data, message } = error
    const rawMessage = message.slice(0, ChainNodeClient.longestQuote)
    return Result.succeed(Result.fail({ code, message: quote(message), rawMessage, data }))
  }
  return "result" in response
    ? Result.succeed(Result.succeed(response.result))
    : Result.fail("responded with neither a result nor an error")
}

/**
 * Makes a client of the node. It sends nothing yet.
 *
 * @throws Misconfigured when the URL is not an HTTP one.
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
        return send({ name: method, body }, (response) => read(response, id, quote))
      })
  }
})
