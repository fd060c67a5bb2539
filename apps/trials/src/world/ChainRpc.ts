/**
 * Requests to a node by plain HTTP, for modules that must not share code with the program that they judge. A response that is not as
 * expected is a defect: the node is the trial's own.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** A node. */
export interface ChainRpc {
  /** One request, decoded. */
  readonly ask: <S extends Schema.ConstraintDecoder<unknown>>(
    schema: S,
    method: string,
    params?: ReadonlyArray<unknown>
  ) => Effect.Effect<S["Type"]>
  /** One request whose response does not matter. */
  readonly tell: (method: string, params?: ReadonlyArray<unknown>) => Effect.Effect<void>
}

const Answer = Schema.Struct({
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Struct({ code: Schema.Number, message: Schema.String }))
})

const decodeResponse = Schema.decodeUnknownSync(Answer)

/** Questions to the node at this address. */
export const make = (url: string): ChainRpc => {
  const raw = (method: string, params: ReadonlyArray<unknown>) => Effect.promise(() => exchange(url, method, params))
  return {
    ask: (schema, method, params = []) =>
      Effect.flatMap(raw(method, params), (result) => Effect.orDie(Schema.decodeUnknownEffect(schema)(result))),
    tell: (method, params = []) => Effect.asVoid(raw(method, params))
  }
}

const exchange = async (url: string, method: string, params: ReadonlyArray<unknown>): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  const { error, result } = decodeResponse(await response.json())
  if (error !== undefined) throw new Error(`${method} was refused: ${error.message} (${error.code})`)
  return result
}

/** A number as nodes write it: hexadecimal with `0x`. */
export const Quantity = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]+$/i)).pipe(
  Schema.decodeTo(
    Schema.BigInt,
    SchemaTransformation.transform({ decode: BigInt, encode: (value) => toQuantity(value) })
  )
)

/** The text form of a number for a node. */
export const toQuantity = (value: bigint | number): string => `0x${value.toString(16)}`
