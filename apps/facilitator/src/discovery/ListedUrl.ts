/**
 * URLs that the list of resources may name: those of the origins in the settings, without credentials, and not in a private
 * network.
 */
import { isLoopback } from "@pontage/core"

import * as WebhookTarget from "../webhooks/WebhookTarget.ts"

/** Origins whose resources are listed, and whether they may be in private networks and plain http. */
export interface ListedOrigins {
  readonly origins: ReadonlySet<string>
  readonly allowPrivate: boolean
}

/** Maximum length of a URL. */
const maximumLength = 2048

/** Names that only a private network resolves: a single label, and the reserved endings. */
const privateName = /^[^.:[\]]+$|\.(?:localhost|local|internal|lan|home|arpa|test|invalid|onion)$/

/** Reason not to list an origin; `undefined` if there is none. */
export const objection = (text: string, allowPrivate: boolean): string | undefined => {
  if (!URL.canParse(text) || new URL(text).origin !== text) {
    return "is not an origin; write scheme and host alone, for example https://shop.example"
  }
  const url = new URL(text)
  const name = url.hostname.replace(/\.$/, "")
  const objected = WebhookTarget.objection(url, allowPrivate)
  if (objected !== undefined) return objected.replace(/^the url /, "")
  return !allowPrivate && (isLoopback(url.hostname) || privateName.test(name))
    ? "leads to a private network"
    : undefined
}

/** The URL of a resource as a payment names it; `undefined` if it may not be listed. */
export const read = (text: string, { allowPrivate, origins }: ListedOrigins): URL | undefined => {
  if (text.length > maximumLength || !URL.canParse(text)) return undefined
  const url = new URL(text)
  url.hash = ""
  const isListed = origins.has(url.origin) && url.username === "" && url.password === ""
  return isListed && objection(url.origin, allowPrivate) === undefined ? url : undefined
}

/** A path with named parameters (`/reports/:day`): the one form in which a template cannot leave its origin. */
const template = /^\/(?!\/)(?:[A-Za-z0-9._~!$&'()*+,;=:@{}-]|%[0-9A-Fa-f]{2}|\/(?!\/))*$/

/**
 * The name of a resource in the list: its URL without the query, or its route's template. Returns `undefined` for a template
 * that is no path, or climbs out of it.
 */
export const nameOf = (url: URL, routeTemplate: string | undefined): string | undefined => {
  if (routeTemplate === undefined) return url.origin + url.pathname
  const isPath = routeTemplate.length <= maximumLength && template.test(routeTemplate)
  const segments = decoded(routeTemplate)?.split(/[/\\]/) ?? [".."]
  return isPath && !segments.some((segment) => segment === "." || segment === "..")
    ? url.origin + routeTemplate
    : undefined
}

/** The text that no further decoding changes; `undefined` if it is malformed. */
const decoded = (text: string): string | undefined => {
  try {
    const next = decodeURIComponent(text)
    return next === text ? text : decoded(next)
  } catch {
    return undefined
  }
}
