/**
 * A resource in the list of x402's "bazaar" (x402 specification, extensions/bazaar). Every field comes from the resource's own
 * 402 response, never from a payment, because a payer writes the resource of a payment as it likes.
 */
import { AsciiJson, RetryToken, type SchemeFacilitator } from "@pontage/core"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as ListedUrl from "./ListedUrl.ts"

const text = (maximum: number) => Schema.String.check(Schema.isMaxLength(maximum))

/** An offer of x402 version 2. */
const Offer = Schema.Struct({
  scheme: text(64),
  network: text(128),
  amount: Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,77})$/)),
  asset: text(128),
  payTo: text(128),
  maxTimeoutSeconds: Schema.Finite,
  extra: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Json)))
})

const methods = ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"] as const

const Bazaar = Schema.Struct({
  info: Schema.StructWithRest(
    Schema.Struct({
      input: Schema.StructWithRest(
        Schema.Struct({ type: Schema.Literal("http"), method: Schema.optionalKey(Schema.Literals(methods)) }),
        [Schema.Record(Schema.String, Schema.Json)]
      )
    }),
    [Schema.Record(Schema.String, Schema.Json)]
  ),
  schema: Schema.Record(Schema.String, Schema.Json),
  routeTemplate: Schema.optionalKey(Schema.String)
})

const PaymentRequired = Schema.Struct({
  x402Version: Schema.Literal(2),
  resource: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  accepts: Schema.NonEmptyArray(Offer).check(Schema.isMaxLength(16)),
  extensions: Schema.StructWithRest(Schema.Struct({ bazaar: Bazaar }), [Schema.Record(Schema.String, Schema.Json)])
})

/** A resource as the list shows it. */
export const DiscoveredResource = Schema.Struct({
  resource: Schema.String.annotate({
    description: "Its URL without a query, or with the template of its route's path"
  }),
  type: Schema.Literal("http"),
  x402Version: Schema.Literal(2),
  accepts: Schema.Array(Offer),
  lastUpdated: Schema.String.annotate({ description: "Time of the response that the entry is made of, ISO 8601" }),
  description: Schema.optionalKey(Schema.String),
  mimeType: Schema.optionalKey(Schema.String),
  serviceName: Schema.optionalKey(Schema.String),
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  iconUrl: Schema.optionalKey(Schema.String),
  extensions: Schema.Struct({ bazaar: Bazaar })
})

export type DiscoveredResource = typeof DiscoveredResource.Type

/** A settled payment: its terms in canonical form, and the resource that it names. */
export interface SettledPayment {
  readonly paymentId: string
  readonly scheme: string
  readonly network: string
  readonly payTo: string
  readonly asset: string
  readonly amount: string
  readonly resource: string
}

/** Maximum size of an entry as JSON, in bytes. */
const maximumBytes = 8 * 1024

/** Maximum nesting: a schema inside of an extension. */
const maximumDepth = 16

const decode = Schema.decodeUnknownResult(PaymentRequired)
const decodeWithout = Schema.decodeUnknownResult(
  Schema.Struct({
    x402Version: Schema.Literal(2),
    accepts: Schema.Array(Schema.Json),
    extensions: Schema.optionalKey(Schema.Struct({ bazaar: Schema.optionalKey(Schema.Never) }))
  })
)

/** A payment request that opts in. */
export type Listable = typeof PaymentRequired.Type

/**
 * Reads the field `PAYMENT-REQUIRED` of a 402 response: the request, `optedOut` if it has no extension `bazaar`, `undefined` if
 * it is malformed.
 */
export const read = (offer: string | undefined): Listable | "optedOut" | undefined => {
  const json = Buffer.from(offer ?? "", "base64").toString("utf8")
  if (AsciiJson.depthOf(json) > maximumDepth) return undefined
  const value = Result.try((): unknown => JSON.parse(json))
  if (Result.isFailure(value)) return undefined
  const required = decode(value.success)
  if (Result.isSuccess(required)) return required.success
  return Result.isSuccess(decodeWithout(value.success)) ? "optedOut" : undefined
}

/** The URL that was requested, and the payment that led to it. */
export interface Occasion {
  readonly url: URL
  readonly payment: SettledPayment
  readonly schemes: ReadonlyArray<SchemeFacilitator>
}

/**
 * The entry of a resource at a time (Unix milliseconds). Returns `undefined` if its request does not opt in, is too large,
 * refers to documents elsewhere, or offers nothing that the payment has paid in full.
 */
export const fromOffer = (
  required: Listable | "optedOut",
  occasion: Occasion,
  now: number
): DiscoveredResource | undefined => {
  if (required === "optedOut" || !required.accepts.some((offer) => isPaid(offer, occasion))) return undefined
  const { bazaar } = required.extensions
  const resource = ListedUrl.nameOf(occasion.url, bazaar.routeTemplate)
  if (resource === undefined || isOutward(bazaar.schema)) return undefined
  const entry: DiscoveredResource = {
    resource,
    type: "http",
    x402Version: 2,
    accepts: required.accepts.map(impersonal),
    lastUpdated: new Date(now).toISOString(),
    ...wordsOf(required.resource ?? {}, occasion.url),
    extensions: { bazaar }
  }
  const json = JSON.stringify(entry)
  return Buffer.byteLength(json) <= maximumBytes && !invisible.test(json) ? entry : undefined
}

type Offered = typeof Offer.Type

/** Whether the payment covers the offer. Addresses are compared in the canonical form of the scheme. */
const isPaid = (offer: Offered, { payment, schemes }: Occasion): boolean => {
  const scheme = schemes.find((one) => one.scheme.name === payment.scheme && one.network === payment.network)
  if (scheme === undefined || offer.scheme !== payment.scheme) return false
  const isSame = (one: string, other: string) => {
    const canonical = scheme.scheme.address(one)
    return canonical !== undefined && canonical === scheme.scheme.address(other)
  }
  return (
    scheme.scheme.network(offer.network) === scheme.network &&
    isSame(offer.payTo, payment.payTo) &&
    isSame(offer.asset, payment.asset) &&
    BigInt(offer.amount) <= BigInt(payment.amount)
  )
}

/** An offer without the parts that are made for one payer. */
const impersonal = ({ extra, ...offer }: Offered): Offered => {
  if (extra === undefined || extra === null) return offer
  const { challenge: _challenge, [RetryToken.key]: _token, ...rest } = extra
  return { ...offer, extra: rest }
}

/** Characters that change how a text looks or is read: controls, directions, invisible ones. JSON has escaped the others. */
const invisible = /\p{Cf}|\p{Cs}|\p{Co}/u

/** Whether a schema refers to a document elsewhere: a reader that follows it would send requests for a stranger. */
const isOutward = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(isOutward)
  if (typeof value !== "object" || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) =>
      ((key === "$ref" || key === "$dynamicRef" || key === "$id") &&
        !(typeof inner === "string" && inner.startsWith("#"))) ||
      isOutward(inner)
  )
}

const printable = /^[\x20-\x7e]{1,32}$/

/** The resource's own words, each only if it is well formed. */
const wordsOf = (place: Readonly<Record<string, Schema.Json>>, { origin }: URL) => {
  const { description, iconUrl, mimeType, serviceName, tags } = place
  const isIcon = typeof iconUrl === "string" && iconUrl.length <= 2048 && URL.canParse(iconUrl)
  const labels = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string" && printable.test(tag)) : []
  return {
    ...(typeof description === "string" && description !== "" && { description: visible(description) }),
    ...(typeof mimeType === "string" && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(mimeType) && { mimeType }),
    ...(typeof serviceName === "string" && printable.test(serviceName) && { serviceName }),
    ...(labels.length > 0 && { tags: labels.slice(0, 5) as ReadonlyArray<string> }),
    ...(isIcon && new URL(iconUrl).origin === origin && { iconUrl: new URL(iconUrl).href })
  }
}

/** Maximum length of a description, in UTF-16 units. */
const maximumDescription = 500

const visible = (words: string): string =>
  words
    .slice(0, maximumDescription)
    .replace(/\p{C}+/gu, " ")
    .trim()
