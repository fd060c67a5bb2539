/**
 * One question over HTTP to a full node. Nodes answer errors with HTTP 200 and a field `Error`; those, and everything else
 * that is no answer, are `ChainUnavailable`.
 */
import { ChainNodeClient, type ChainUnavailable, type HttpOrigin, type Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/**
 * How a node is reached: `url` is the part before `/wallet`, `headers` may hold a provider's key (`TRON-PRO-API-KEY`),
 * `onRequest` is told the path.
 */
export type Options = ChainNodeClient.Options

const check = OptionCheck.options<Options>(ChainNodeClient.keys)

/** Asks a path with this body: the node's JSON. */
export type Ask = (
  path: string,
  body: Readonly<Record<string, string | number | boolean>>
) => Effect.Effect<unknown, ChainUnavailable>

/** One node. `quote` makes its words fit to be shown. */
export interface TronNode {
  readonly network: string
  readonly ask: Ask
  readonly quote: (words: string) => string
}

/** The longest answer that is read, in bytes. */
export const maximumBytes = 1_048_576

const isError = /* @__PURE__ */ Schema.is(/* @__PURE__ */ Schema.Struct({ Error: Schema.String }))

/** The JSON of an answer; or what was wrong with it, without a subject. */
const read = ({ body, status }: HttpOrigin.HttpAnswer): Result.Result<unknown, string> => {
  if (status < 200 || status > 299) return Result.fail(`answered HTTP ${status}`)
  return Result.flatMap(ChainNodeClient.readJson(body), (json) =>
    isError(json) ? Result.fail(`failed: ${json.Error}`) : Result.succeed(json)
  )
}

/**
 * Makes the means to ask. Nothing is asked yet.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<TronNode, Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "the RPC"))
  const { network, quote, send } = yield* ChainNodeClient.make(options, maximumBytes)
  return { network, quote, ask: (path, body) => send({ name: path, path, body }, read) }
})
