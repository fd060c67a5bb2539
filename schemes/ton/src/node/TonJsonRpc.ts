/**
 * One request to a node's HTTP API (toncenter v2). A malformed response is `ChainUnavailable`; an error that the node returns
 * is a value.
 */
import { ChainNodeClient, type ChainUnavailable, type HttpOrigin, type Misconfigured, Shape } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/**
 * Connection to a node: `url` is the JSON-RPC address, for example `https://toncenter.com/api/v2/jsonRPC`; `onRequest` receives
 * the method.
 */
export interface Options extends Omit<ChainNodeClient.Options, "headers"> {
  /** Sent as `X-API-Key`. No message shows it. */
  readonly apiKey?: string
}

const { headers: _, ...shared } = ChainNodeClient.keys

const check = OptionCheck.options<Options>({ ...shared, apiKey: OptionCheck.optional(OptionCheck.text) })

/** Sends a request: the node's result, or the text of its error. */
export type Request = (
  method: string,
  params: Readonly<Record<string, unknown>>
) => Effect.Effect<Result.Result<unknown, string>, ChainUnavailable>

/** Size limit of a response, in bytes. */
export const maximumBytes = 4_194_304

type Response =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: string; readonly code?: number }

const number = /* @__PURE__ */ Shape.guarded("a number", (value) => typeof value === "number")

const response: Shape.Shape<Response> = /* @__PURE__ */ Shape.either(
  /* @__PURE__ */ Shape.struct<Extract<Response, { readonly ok: true }>>({
    ok: /* @__PURE__ */ Shape.oneOf([true]),
    result: Shape.json
  }),
  /* @__PURE__ */ Shape.struct<Extract<Response, { readonly ok: false }>>({
    ok: /* @__PURE__ */ Shape.oneOf([false]),
    error: Shape.text,
    code: /* @__PURE__ */ Shape.optional(number)
  })
)

/** Whether a status means that the node did not serve the request: that proves nothing about its subject. */
const isUnserved = (code: number): boolean =>
  code === 401 || code === 403 || code === 429 || code === 502 || code === 503

type RpcResult = Result.Result<unknown, string>

/** Reads a response, or says what was wrong with it, without a subject. */
const read = (
  { body, status }: HttpOrigin.HttpResponse,
  quote: (words: string) => string
): Result.Result<RpcResult, string> => {
  if (isUnserved(status)) return Result.fail(`responded with HTTP ${status}`)
  const json = ChainNodeClient.readJson(body)
  if (Result.isFailure(json)) return Result.fail(json.failure)
  const found = Shape.read(response, json.success)
  if (Result.isFailure(found)) return Result.fail(`responded with HTTP ${status} and a malformed response`)
  if (found.success.ok) return Result.succeed(Result.succeed(found.success.result))
  if (isUnserved(found.success.code ?? 0)) return Result.fail(`responded with the code ${found.success.code}`)
  return Result.succeed(Result.fail(quote(found.success.error)))
}

/**
 * Makes the function that sends requests.
 *
 * @throws Misconfigured when the URL is not an HTTP URL.
 */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Request, Misconfigured> {
  const { apiKey, ...node } = yield* Effect.fromResult(OptionCheck.read(check, options, "the RPC"))
  const headers = apiKey === undefined ? undefined : { "x-api-key": apiKey }
  const { quote, send } = yield* ChainNodeClient.make({ ...node, ...(headers && { headers }) }, maximumBytes)
  return (method, params) =>
    send({ name: method, body: { jsonrpc: "2.0", id: "1", method, params } }, (response) => read(response, quote))
})
