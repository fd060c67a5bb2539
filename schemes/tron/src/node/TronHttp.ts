/**
 * Requests over HTTP to a full node. Nodes report errors with HTTP 200 and a field `Error`; these, and all invalid responses, are
 * `ChainUnavailable`.
 */
import { ChainNodeClient, type ChainUnavailable, type HttpOrigin, type Misconfigured, Shape } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/**
 * Options of a node: `url` is the part before `/wallet`, `headers` may hold a provider's key (`TRON-PRO-API-KEY`), `onRequest`
 * receives the path.
 */
export type Options = ChainNodeClient.Options

const check = OptionCheck.options<Options>(ChainNodeClient.keys)

/** Sends a body to a path; gives the JSON of the response. */
export type Send = (
  path: string,
  body: Readonly<Record<string, string | number | boolean>>
) => Effect.Effect<unknown, ChainUnavailable>

/** One node. `quote` makes the text of its messages safe to show. */
export interface TronNode {
  readonly network: string
  readonly send: Send
  readonly quote: (text: string) => string
}

/** Longest response that is read, in bytes. */
export const maximumBytes = 1_048_576

const error = /* @__PURE__ */ Shape.struct<{ readonly Error: string }>({ Error: Shape.text })

/** Reads the JSON of a response; fails with a sentence without its subject, which is the node. */
const read = ({ body, status }: HttpOrigin.HttpResponse): Result.Result<unknown, string> => {
  if (status < 200 || status > 299) return Result.fail(`responded with HTTP ${status}`)
  return Result.flatMap(ChainNodeClient.readJson(body), (json) => {
    const failure = Shape.read(error, json)
    return Result.isSuccess(failure) ? Result.fail(`failed: ${failure.success.Error}`) : Result.succeed(json)
  })
}

/**
 * Makes the connection; sends nothing yet.
 *
 * @throws Misconfigured if the URL is not one of HTTP.
 */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<TronNode, Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "the RPC"))
  const { network, quote, send } = yield* ChainNodeClient.make(options, maximumBytes)
  return { network, quote, send: (path, body) => send({ name: path, path, body }, read) }
})
