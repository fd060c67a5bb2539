/**
 * A route's configuration as it was written, in either form: its keys and the shapes of its values are checked here, and what they
 * mean in `PricedRoute`.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { Fault } from "../../protocol/Shape.ts"
import type { SellerDialect } from "../../wire/pontage/Dialect.ts"
import * as RouteCall from "./RouteCall.ts"
import type { AcceptTerms, Charge, GetPrice, RouteConfig, Validate } from "./RouteConfig.ts"

/** Header values and offers are one line of printable ASCII text. */
const line = Schema.String.check(Schema.isPattern(/^[\t\x20-\x7e]+$/), Schema.isMaxLength(1024))

const acceptFields = {
  network: Schema.String,
  payTo: Schema.String,
  price: Schema.optional(Schema.String),
  asset: Schema.optional(Schema.String),
  onward: Schema.optional(
    Schema.Struct({
      network: Schema.String,
      asset: Schema.optional(Schema.String),
      inventory: Schema.optional(Schema.String)
    })
  ),
  extra: Schema.optional(Schema.Record(Schema.String, Schema.Json))
}

const Accept = Schema.Struct({ scheme: Schema.String, ...acceptFields })
type Accept = typeof Accept.Type

const terms = {
  description: Schema.optional(Schema.String.check(Schema.isMaxLength(1024))),
  mimeType: Schema.optional(line.check(Schema.isMaxLength(255))),
  maxTimeoutSeconds: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))),
  priceTimeoutMillis: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 600_000 }))),
  settle: Schema.optional(Schema.Literals(["before-handler", "after-handler"])),
  serve: Schema.optional(Schema.Literals(["departed", "delivered"])),
  refused: Schema.optional(Schema.Literals(["reusable", "charged"])),
  bind: Schema.optional(Schema.Literals(["none", "body"])),
  repeat: Schema.optional(Schema.Literals(["none", "same"])),
  receipt: Schema.optional(Schema.Literals(["none", "payment", "response"])),
  signedOffers: Schema.optional(Schema.Boolean),
  binding: Schema.optional(Schema.Literals(["required", "preferred", "off"])),
  cache: Schema.optional(line),
  resource: Schema.optional(line),
  metered: Schema.optional(
    Schema.Struct({
      unit: line.check(Schema.isMaxLength(64)),
      tick: Schema.String,
      window: Schema.optionalKey(Schema.String),
      idleSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 600 }))),
      strangers: Schema.optionalKey(Schema.Literals(["serve", "refuse"]))
    })
  ),
  listed: Schema.optional(Schema.Boolean),
  ...RouteCall.fields
}

const Listed = Schema.Struct({ ...terms, accepts: Schema.NonEmptyArray(Accept) })
const Single = Schema.Struct({ ...terms, scheme: Schema.optional(Schema.String), ...acceptFields })

/** The compiler demands every key of a configuration here, and of an option: in its schema or in `beside`. */
const acceptKeys = Object.keys(Accept.fields satisfies Readonly<Record<keyof AcceptTerms, unknown>>)
const beside = { accepts: true, charge: true, getPrice: true, dialects: true, validate: true }

/** The keys of a route, for hosts that accept some of them. */
export const routeKeys: ReadonlyArray<string> = Object.keys({ ...Single.fields, ...beside } satisfies Readonly<
  Record<KeyOf<RouteConfig>, unknown>
>)

const listedKeys = Object.keys({ ...Listed.fields, ...beside })
const listedHints = [...listedKeys, ...acceptKeys.map((key) => `accepts[].${key}`)]

type KeyOf<Config> = Config extends unknown ? keyof Config : never

const strictly = { onExcessProperty: "error", errors: "first" } as const
const decodeListed = Schema.decodeUnknownResult(Listed, strictly)
const decodeSingle = Schema.decodeUnknownResult(Single, strictly)

/** A mistake is a text; `PricedRoute.make` puts the route's name before it. */
export type Checked<A> = Result.Result<A, string>

/** An option of the right shape. */
export interface Entry {
  /** Its place, for messages: `accepts[1]`, or empty in the single-option form. */
  readonly place: string
  readonly scheme: string
  readonly network: string
  readonly payTo: string
  readonly price: string | undefined
  readonly asset: string | undefined
  readonly onward:
    | { readonly network: string; readonly asset?: string | undefined; readonly inventory?: string | undefined }
    | undefined
  readonly extra: Readonly<Record<string, Schema.Json>> | undefined
}

/** A configuration of the right shape. */
export interface WrittenRoute {
  readonly terms: Omit<typeof Listed.Type, "accepts">
  readonly entries: ReadonlyArray<Entry>
  readonly getPrice: GetPrice | undefined
  readonly validate: Validate | undefined
  readonly charge: Charge | undefined
  readonly dialects: ReadonlyArray<SellerDialect> | undefined
}

/** Reads a configuration. */
export const read = (config: RouteConfig): Checked<WrittenRoute> => {
  const fault = keyFaultOf(config)
  if (fault !== undefined) return Result.fail(OptionCheck.described(fault))
  const { accepts: listed, charge, getPrice, dialects, validate, ...fields } = config
  if (getPrice !== undefined && typeof getPrice !== "function") return Result.fail("getPrice is not a function")
  if (validate !== undefined && typeof validate !== "function") return Result.fail("validate is not a function")
  if (charge !== undefined && typeof charge !== "function") return Result.fail("charge is not a function")
  return listed === undefined
    ? Result.mapBoth(decodeSingle(fields), {
        onFailure: (error) => error.message,
        onSuccess: ({ scheme = "exact", ...single }) => ({
          terms: single,
          charge,
          getPrice,
          validate,
          dialects,
          entries: [entryOf("", { scheme, ...single })]
        })
      })
    : Result.mapBoth(decodeListed({ ...fields, accepts: listed }), {
        onFailure: (error) => error.message,
        onSuccess: ({ accepts, ...terms }) => ({
          terms,
          charge,
          getPrice,
          validate,
          dialects,
          entries: accepts.map((accept, index) => entryOf(`accepts[${index}] `, accept))
        })
      })
}

/** The mistake that the keys show; the schemas check the values. */
const keyFaultOf = (config: RouteConfig): Fault | undefined => {
  const own = OptionCheck.unknownKey(routeKeys, config)
  if (own !== undefined) return own
  if (config.accepts === undefined) return unsetFault(config)
  const alone = OptionCheck.unknownKey(listedKeys, config, listedHints)
  if (alone !== undefined || !Array.isArray(config.accepts)) return alone
  const fault = acceptFault.fault(config.accepts)
  return fault && new Fault(`.accepts${fault.path}`, fault.problem)
}

const acceptFault = OptionCheck.list({
  fault: (accept) => OptionCheck.unknownKey(acceptKeys, accept) ?? unsetFault(accept)
})

/** The texts of an option that commonly come from the environment. */
const settings = {
  network: OptionCheck.setting('a network such as "eip155:8453" or "base-sepolia"'),
  payTo: OptionCheck.setting("the address that is paid")
}

const unsetFault = (option: unknown): Fault | undefined => {
  for (const [key, check] of Object.entries(settings)) {
    const fault = check.fault(Reflect.get(Object(option), key))
    if (fault !== undefined) return new Fault(`.${key}`, fault.problem)
  }
  return undefined
}

const entryOf = (place: string, { asset, extra, network, onward, payTo, price, scheme }: Accept): Entry => ({
  place,
  scheme,
  network,
  payTo,
  price,
  asset,
  onward,
  extra
})
