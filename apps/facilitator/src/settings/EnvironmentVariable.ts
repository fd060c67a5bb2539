/**
 * One environment variable: what it must be, with an example, and how it is read. A mistake never shows the value, which
 * may be a secret.
 */
import { Misconfigured } from "@pontage/core"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import { NativeAmountText } from "../callers/CallerFile.ts"
import { placesOf } from "../http/SchemaPlaces.ts"

/**
 * Reads one variable; `undefined` where it is not set. An empty one is set, and wrong: `Misconfigured` with its name, what
 * is expected, an example, and the places in a JSON text that are not as described.
 */
export const make = <S extends Schema.ConstraintDecoder<unknown>>(
  name: string,
  expected: string,
  example: string,
  schema: S
): Effect.Effect<S["Type"] | undefined, Misconfigured> => {
  const message = `${name}: expected ${expected}; for example ${name}=${example}`
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all", onExcessProperty: "error" })
  return Config.option(Config.Redacted(name)).pipe(
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
}

/** A whole number in this range. Digits only: the number of an empty text would be zero. */
export const integer = (range: { readonly minimum: number; readonly maximum: number }) =>
  Schema.String.check(Schema.isPattern(/^[0-9]{1,9}$/)).pipe(
    Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween(range)))
  )

/** Yes or no. */
export const YesOrNo = Schema.Literals(["true", "false"])

/** An amount of a chain's smallest native unit as decimal text: wei, nanotons, sun. */
export const NativeAmount = NativeAmountText.pipe(Schema.decodeTo(Schema.BigIntFromString))

/** Such an amount that is not zero. */
export const PositiveAmount = NativeAmountText.check(Schema.isPattern(/^[1-9]/)).pipe(
  Schema.decodeTo(Schema.BigIntFromString)
)

/** The http or https address of a node. */
export const RpcUrl = Schema.String.check(
  Schema.makeFilter((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))
)

/**
 * What providers of nodes give their customers, and what may stand in a header: printable characters without spaces.
 */
export const ProviderKey = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/))
