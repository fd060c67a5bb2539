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

/** Whether a POST may be sent to a URL: it is one of these, or below one of them. */
export const mayPost = ({ origin, pathname }: URL, posts: ReadonlyArray<string>): boolean =>
  !climbs(pathname) &&
  posts.some((text) => {
    const post = new URL(text)
    return post.origin === origin && (post.pathname === pathname || pathname.startsWith(below(post.pathname)))
  })

const below = (pathname: string): string => (pathname.endsWith("/") ? pathname : `${pathname}/`)

/** Reason not to send a POST to a URL or below it; `undefined` if there is none. */
export const postObjection = (text: string, origins: ReadonlyArray<string>): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.href !== text || url.search !== "" || url.hash !== "") {
    return "is not a URL without a query; write for example https://shop.example/render"
  }
  return origins.includes(url.origin) ? undefined : "is not of an origin that is listed"
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
 * that is no path, climbs out of it, or does not lead to the URL: several shops may share an origin, and none of them speaks for the
 * paths of another.
 */
export const nameOf = (url: URL, routeTemplate: string | undefined): string | undefined => {
  if (routeTemplate === undefined) return url.origin + url.pathname
  const isPath = routeTemplate.length <= maximumLength && template.test(routeTemplate) && !climbs(routeTemplate)
  return isPath && leadsTo(routeTemplate, url.pathname) ? url.origin + routeTemplate : undefined
}

const climbs = (path: string): boolean =>
  (decoded(path)?.split(/[/\\]/) ?? [".."]).some((segment) => segment === "." || segment === "..")

/** A segment with one parameter at most: `:day`, `{day}`, `report-:day.json`. */
const parameter = /^([^:{}*]*)(?::[A-Za-z_][A-Za-z0-9_]*|\{[^:{}*]+\})([^:{}*]*)$/

/** A last segment that stands for the rest of a path: `*`, `*rest`, `{*rest}`, `:rest*`, `{rest}*`. */
const rest = /^\{?\*[A-Za-z0-9_]*\}?$|^(?::[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z0-9_]+\})\*$/

/** Whether a template stands for a path. */
const leadsTo = (routeTemplate: string, pathname: string): boolean => {
  const wanted = routeTemplate.split("/")
  const given = pathname.split("/")
  const isOpen = rest.test(wanted.at(-1) ?? "")
  const fixed = isOpen ? wanted.slice(0, -1) : wanted
  return (
    (isOpen ? given.length >= fixed.length : given.length === fixed.length) &&
    fixed.every((segment, index) => fits(segment, given[index] ?? ""))
  )
}

const fits = (segment: string, given: string): boolean => {
  const [, before, after] = parameter.exec(segment) ?? []
  if (before === undefined || after === undefined) return decoded(segment) === decoded(given)
  return given.length > before.length + after.length && given.startsWith(before) && given.endsWith(after)
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
