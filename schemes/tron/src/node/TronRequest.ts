/**
 * One question to a node, asked and decoded: what is not a proper answer is `ChainUnavailable`, never a value.
 */
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

/**
 * A number as nodes write it: left out when it is 0. Above 2^53 JSON loses the last digits, which no comparison here minds.
 */
export const OrZero = /* @__PURE__ */ makeWhole()

/** An answer that is well formed and cannot be one. */
export class Nonsense {
  readonly what: string
  constructor(what: string) {
    this.what = what
  }
}

/** Asks a path with a body. */
export type Question<A> = (...asked: Parameters<TronHttp.Ask>) => Effect.Effect<A, ChainUnavailable>

/** A question whose answer is of this schema; `read` may refuse what is well formed and makes no sense. */
export const make = <S extends Schema.ConstraintDecoder<unknown>, A>(
  node: TronHttp.TronNode,
  schema: S,
  read: (answer: S["Type"]) => A | Nonsense
): Question<A> => {
  const decode = Schema.decodeUnknownResult(schema)
  return (path, body) =>
    Effect.flatMap(node.ask(path, body), (json) => {
      const decoded = decode(json)
      if (Result.isFailure(decoded)) return odd(node, path, decoded.failure.message)
      const value = read(decoded.success)
      return value instanceof Nonsense ? odd(node, path, value.what) : Effect.succeed(value)
    })
}

/** The failure for an answer that is none. */
export const odd = (
  { network, quote }: TronHttp.TronNode,
  path: string,
  what: string
): Effect.Effect<never, ChainUnavailable> =>
  Effect.fail(
    new ChainUnavailable({
      network,
      message: `The node of ${network} answered ${path} with something else: ${quote(what)}`
    })
  )
