/**
 * Shapes: decoders of a server's JSON for payers. They decode as the schemas of the same types do, and a test compares the
 * two; schemas can also print, document and encode, which would make up a third of a browser's bundle for paying. Code that
 * is not in the payer's bundle uses the schemas.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import { escape } from "./text/AsciiEscape.ts"

/** A decoder of a JSON value into an `A`. */
export interface Shape<out A> {
  /** The value, without fields that are not part of the shape. */
  readonly read: (value: unknown) => A | Fault
}

/** Where a value differs from its shape. */
export class Fault {
  readonly path: string
  readonly problem: string
  constructor(path: string, problem: string) {
    this.path = path
    this.problem = problem
  }
}

const expecting = (expected: string, value: unknown): Fault =>
  new Fault("", `expected ${expected}, got ${value === undefined ? "nothing" : shown(value)}`)

/** Quoted in ASCII: people read it on terminals that obey some characters. */
const shown = (value: unknown): string => escape(JSON.stringify(value).slice(0, 100))

const within = (step: string, { path, problem }: Fault): Fault => new Fault(`${step}${path}`, problem)

/** Values that pass a guard; `expected` describes them in messages. */
export const guarded = <A>(expected: string, isRight: (value: unknown) => value is A): Shape<A> => ({
  read: (value) => (isRight(value) ? value : expecting(expected, value))
})

/** Whether a JSON value is an object. */
export const isObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A string. */
export const text: Shape<string> = /* @__PURE__ */ guarded("a string", (value) => typeof value === "string")

/** A whole number. */
export const int: Shape<number> = /* @__PURE__ */ guarded("a whole number", (value): value is number =>
  Number.isSafeInteger(value)
)

/** A whole number that is not negative. */
export const count: Shape<number> = /* @__PURE__ */ guarded(
  "a whole number of at least 0",
  (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0
)

/** A string that a pattern matches; `expected` describes it in messages. */
export const matching = (expected: string, pattern: RegExp): Shape<string> =>
  guarded(expected, (value): value is string => typeof value === "string" && pattern.test(value))

/** An object with any content. */
export const object: Shape<Schema.JsonObject> = /* @__PURE__ */ guarded("an object", isObject)

/** Any value. */
export const json: Shape<Schema.Json> = /* @__PURE__ */ guarded(
  "a value",
  (value): value is Schema.Json => value !== undefined
)

/** One of these values. */
export const oneOf = <const A extends string | number | boolean>(values: ReadonlyArray<A>): Shape<A> =>
  guarded(values.map((one) => JSON.stringify(one)).join(" or "), (value): value is A =>
    values.some((one) => one === value)
  )

/** A value of either shape; a fault is that of the second one. */
export const either = <A, B>(one: Shape<A>, other: Shape<B>): Shape<A | B> => ({
  read: (value) => {
    const found = one.read(value)
    return found instanceof Fault ? other.read(value) : found
  }
})

/** A value of a shape, converted. */
export const converted = <A, B>(shape: Shape<A>, convert: (value: A) => B): Shape<B> => ({
  read: (value) => {
    const found = shape.read(value)
    return found instanceof Fault ? found : convert(found)
  }
})

/** A field that may be absent. */
export const optional = <A>(shape: Shape<A>): Shape<A | undefined> => ({
  read: (value) => (value === undefined ? undefined : shape.read(value))
})

/** A field that may be absent or `null`, which counts as absent. */
export const nullable = <A>(shape: Shape<A>): Shape<A | undefined> => ({
  read: (value) => (value === undefined || value === null ? undefined : shape.read(value))
})

/** A list whose items all have one shape. */
export const list = <A>(shape: Shape<A>): Shape<ReadonlyArray<A>> => ({
  read: (value) => {
    if (!Array.isArray(value)) return expecting("a list", value)
    const items: Array<A> = []
    for (const [index, given] of value.entries()) {
      const item = shape.read(given)
      if (item instanceof Fault) return within(`[${index}]`, item)
      items.push(item)
    }
    return items
  }
})

/** An object with these own fields; other fields are dropped. */
export const struct = <A>(fields: { readonly [K in keyof A]-?: Shape<A[K]> }): Shape<A> => ({
  read: (value) => {
    if (!isObject(value)) return expecting("an object", value)
    const found: Partial<A> = {}
    for (const name in fields) {
      const field = fields[name].read(Object.hasOwn(value, name) ? value[name] : undefined)
      if (field instanceof Fault) return within(`.${name}`, field)
      if (field !== undefined) found[name] = field
    }
    return isWhole(found) ? found : expecting("an object", value)
  }
})

/** Every required field of the shape was read, so the parts make an `A`. */
const isWhole = <A>(found: Partial<A>): found is A => isObject(found)

/** Reads a value of `JSON.parse`. Fails with a sentence that names the place of the difference. */
export const read = <A>(shape: Shape<A>, value: unknown): Result.Result<A, string> => {
  const found = shape.read(value)
  return found instanceof Fault
    ? Result.fail(`${found.problem}${found.path && ` at ${found.path}`}`)
    : Result.succeed(found)
}
