/** One request to a node and its decoded response: an invalid response is `ChainUnavailable`, never a value. */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

import type * as TronHttp from "./TronHttp.ts"

const makeWhole = () =>
  Schema.Number.check(
    Schema.makeFilter((number: number) => Number.isInteger(number), { expected: "a whole number" })
  ).pipe(
    Schema.decodeTo(Schema.BigInt, SchemaTransformation.transform({ decode: BigInt, encode: Number })),
    Schema.withDecodingDefaultTypeKey(Effect.succeed(0n))
  )

/** A number as nodes write it, left out if it is 0. Above 2^53 JSON loses the last digits, which matters to no comparison here. */
export const OrZero = /* @__PURE__ */ makeWhole()

/** A response that is well formed and contradicts the request or itself. */
export class InvalidResponse {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** Sends a body to a path. */
export type TronRequest<A> = (...request: Parameters<TronHttp.Send>) => Effect.Effect<A, ChainUnavailable>

/** Decodes the JSON of a response, or says what is wrong with it. */
export type Decode<R> = (json: unknown) => Result.Result<R, string>

/** Decodes by a schema. */
export const bySchema = <S extends Schema.ConstraintDecoder<unknown>>(schema: S): Decode<S["Type"]> => {
  const decode = Schema.decodeUnknownResult(schema)
  return (json) => Result.mapError(decode(json), ({ message }) => message)
}

/** Makes a request whose response is decoded; `read` may reject a well-formed response. */
export const make =
  <R, A>(node: TronHttp.TronNode, decode: Decode<R>, read: (response: R) => A | InvalidResponse): TronRequest<A> =>
  (path, body) =>
    Effect.flatMap(node.send(path, body), (json) => {
      const decoded = decode(json)
      if (Result.isFailure(decoded)) return invalid(node, path, decoded.failure)
      const value = read(decoded.success)
      return value instanceof InvalidResponse ? invalid(node, path, value.reason) : Effect.succeed(value)
    })

/** The failure for an invalid response. */
export const invalid = (
  { network, quote }: TronHttp.TronNode,
  path: string,
  reason: string
): Effect.Effect<never, ChainUnavailable> =>
  Effect.fail(
    new ChainUnavailable({
      network,
      message: `The node of ${network} sent an invalid response to ${path}: ${quote(reason)}`
    })
  )
