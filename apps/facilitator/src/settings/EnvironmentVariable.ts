/**
 * Environment variables in tables. An entry of a table holds everything about one variable: its name, its expected value, an
 * example, its schema, and, as the entry's key, the option that it sets. A mistake never shows the value, which may be a secret.
 */
import { Misconfigured } from "@pontage/core"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { placesOf } from "../http/SchemaPlaces.ts"
import { NativeAmountText } from "./CallerFile.ts"

/** A variable. `read` gives `undefined` where the variable is not set. */
export interface Variable<A> {
  readonly name: string
  readonly read: Effect.Effect<A | undefined, Misconfigured>
}

/** Variables by the options that they set. */
export type Table = Readonly<Record<string, Variable<unknown>>>

/** Options of a table. Variables that are not set are absent. */
export type Values<T extends Table> = { readonly [K in keyof T]?: T[K] extends Variable<infer A> ? A : never }

/**
 * A variable. An empty text counts as set, and is wrong: `Misconfigured` with the variable's name, the expected value, an
 * example, and the places in a JSON text that are not as described.
 */
export const make = <S extends Schema.ConstraintDecoder<unknown>>(
  name: string,
  expected: string,
  example: string,
  schema: S
): Variable<S["Type"]> => {
  const message = `${name}: expected ${expected}; for example ${name}=${example}`
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all", onExcessProperty: "error" })
  const read = Config.option(Config.Redacted(name)).pipe(
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.undefined,
        onSome: (text) => decode(Redacted.value(text))
      })
    ),
    Effect.mapError((error) => {
      const places = error._tag === "SchemaError" ? placesOf(error.issue).filter(({ name }) => name !== "") : []
      const where = places.map(({ name, problem }) => `; ${name}${problem}`)
      return new Misconfigured({ message: `${message}${where.join("")}` })
    })
  )
  return { name, read }
}

/** The least and the largest number that a variable takes. */
export interface Range {
  readonly minimum: number
  readonly maximum: number
}

/** A variable that is a whole number of this unit. The text has digits only, since an empty text would be zero. */
export const whole = (name: string, unit: string, range: Range, example: string): Variable<number> =>
  make(
    name,
    `${unit} from ${range.minimum} to ${range.maximum}`,
    example,
    Schema.String.check(Schema.isPattern(/^[0-9]{1,15}$/)).pipe(
      Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween(range)))
    )
  )

/** A variable that is `true` or `false`. */
export const flag = (name: string, example: "true" | "false"): Variable<"true" | "false"> =>
  make(name, "true or false", example, Schema.Literals(["true", "false"]))

/** Options that the environment sets, by their tables, and the mistakes of the variables that are set wrongly. */
export function readTables<T extends Readonly<Record<string, Table>>>(
  tables: T
): Effect.Effect<Readings<{ readonly [Name in keyof T]: Values<T[Name]> }>>
export function readTables(tables: Readonly<Record<string, Table>>): Effect.Effect<Readings<object>> {
  return Effect.map(Effect.forEach(Object.entries(tables), readTable), (read) => ({
    values: Object.fromEntries(read.map(({ name, values }) => [name, values])),
    mistakes: read.flatMap(({ mistakes }) => mistakes)
  }))
}

interface Readings<A> {
  readonly values: A
  readonly mistakes: ReadonlyArray<string>
}

const readTable = Effect.fnUntraced(function* ([name, table]: readonly [string, Table]) {
  const values: Record<string, unknown> = {}
  const mistakes: Array<string> = []
  for (const [option, { read }] of Object.entries(table)) {
    const result = yield* Effect.result(read)
    if (Result.isFailure(result)) mistakes.push(result.failure.message)
    else if (result.success !== undefined) values[option] = result.success
  }
  return { name, values, mistakes }
})

/** Names of the variables in this table that are set. */
export const namesSet = (table: Table, values: object): Array<string> =>
  Object.entries(table).flatMap(([option, { name }]) => (Object.hasOwn(values, option) ? [name] : []))

/** An amount of a chain's smallest native unit as decimal text: wei, nanotons, sun. */
export const NativeAmount = NativeAmountText.pipe(Schema.decodeTo(Schema.BigIntFromString))

/** A native amount above zero. */
export const PositiveAmount = NativeAmountText.check(Schema.isPattern(/^[1-9]/)).pipe(
  Schema.decodeTo(Schema.BigIntFromString)
)

/** The http or https address of a node. */
export const RpcUrl = Schema.String.check(
  Schema.makeFilter((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))
)

/** A key that the provider of a node has issued: printable characters without spaces, as a header takes them. */
export const ProviderKey = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/))
