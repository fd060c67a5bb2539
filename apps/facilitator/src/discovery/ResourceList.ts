/**
 * The list of resources, bounded for each origin. A full origin takes a new resource only in the place of one that has lapsed,
 * so that payments for many resources never push others out. Resources of one name that are sold for other payees are other
 * entries: where several shops share an origin, none replaces the entry of another.
 */
import * as Schema from "effect/Schema"

import { DiscoveredResource } from "./DiscoveredResource.ts"

/** Maximum number of resources of one origin. */
export const maximumOfOrigin = 100

/** Time for which a resource stays listed after its last payment was settled, in milliseconds: 30 days. */
export const lifetimeMillis = 30 * 24 * 3_600_000

/** Default and maximum size of a page (x402 specification version 2, section "Discovery API"). */
export const standardLimit = 20
export const maximumLimit = 100

const number = (minimum: number, maximum: number) =>
  Schema.String.check(Schema.isPattern(/^[0-9]{1,7}$/)).pipe(
    Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum, maximum })))
  )

const words = Schema.String.check(Schema.isMaxLength(200))

/** Query of a page. A filter that is left out takes every resource. */
export const Query = {
  type: Schema.optionalKey(words).annotate({ description: "Protocol type; there is only http" }),
  payTo: Schema.optionalKey(words).annotate({ description: "Payee of one of its offers" }),
  scheme: Schema.optionalKey(words).annotate({ description: "Scheme of one of its offers" }),
  network: Schema.optionalKey(words).annotate({ description: "Network of one of its offers, as eip155:8453" }),
  extensions: Schema.optionalKey(words).annotate({ description: "Key of an extension that it has" }),
  limit: Schema.optionalKey(number(1, maximumLimit)),
  offset: Schema.optionalKey(number(0, 9_999_999))
}

export type Query = Schema.Struct<typeof Query>["Type"]

/** A page of the list. `total` is the number of resources that the filters take. */
export const Page = Schema.Struct({
  x402Version: Schema.Literal(2),
  items: Schema.Array(DiscoveredResource),
  pagination: Schema.Struct({ limit: Schema.Int, offset: Schema.Int, total: Schema.Int })
})

interface Entry {
  readonly resource: DiscoveredResource
  /** The path that responded with it. */
  readonly path: string
  /** Unix milliseconds. */
  readonly until: number
}

/** A list; its resources are in the order in which they were first listed. */
export interface ResourceList {
  /**
   * Lists the resource that a URL has responded with, in the place of its own entry and of what the URL responded with before, and
   * returns the entry's key. A full origin refuses a new one.
   */
  readonly put: (url: URL, resource: DiscoveredResource, now: number) => string | undefined
  readonly remove: (origin: string, key: string) => void
  readonly page: (query: Query, now: number) => typeof Page.Type
}

/** An empty list. */
export const make = (): ResourceList => {
  const origins = new Map<string, Map<string, Entry>>()
  return {
    put: ({ origin, pathname: path }, resource, now) => {
      const entries = origins.get(origin) ?? new Map<string, Entry>()
      origins.set(origin, entries)
      const key = keyOf(resource)
      for (const [other, entry] of entries) if (entry.path === path && other !== key) entries.delete(other)
      if (!entries.has(key) && entries.size >= maximumOfOrigin) {
        for (const [other, { until }] of entries) if (until <= now) entries.delete(other)
        if (entries.size >= maximumOfOrigin) return undefined
      }
      entries.set(key, { resource, path, until: now + lifetimeMillis })
      return key
    },
    remove: (origin, key) => void origins.get(origin)?.delete(key),
    page: ({ limit = standardLimit, offset = 0, ...filters }, now) => {
      const found = [...origins.values()].flatMap((entries) =>
        [...entries.values()].flatMap(({ resource, until }) =>
          until > now && fits(resource, filters) ? [resource] : []
        )
      )
      const pagination = { limit, offset, total: found.length }
      return { x402Version: 2, items: found.slice(offset, offset + limit), pagination }
    }
  }
}

/** The resource's name, and the payees of its offers. */
const keyOf = ({ accepts, resource }: DiscoveredResource): string => {
  const payees = new Set(accepts.map(({ network, payTo }) => `${network} ${plain(payTo)}`))
  return JSON.stringify([resource, ...[...payees].toSorted()])
}

/** Filters about an offer hold for one and the same offer. Hexadecimal addresses are the same in any case. */
const fits = (
  { accepts, extensions, type }: DiscoveredResource,
  { extensions: extension, network, payTo, scheme, type: wanted }: Omit<Query, "limit" | "offset">
): boolean =>
  (wanted === undefined || wanted === type) &&
  (extension === undefined || Object.hasOwn(extensions, extension)) &&
  accepts.some(
    (offer) =>
      (payTo === undefined || plain(payTo) === plain(offer.payTo)) &&
      (scheme === undefined || scheme === offer.scheme) &&
      (network === undefined || network === offer.network)
  )

const plain = (address: string): string => (/^0x/i.test(address) ? address.toLowerCase() : address)
