/** Path parameters as texts, whatever a host's router makes of a wildcard; or read by the key of a route. */
import * as Result from "effect/Result"

import * as RequestTarget from "../http/RequestTarget.ts"
import * as RouteKey from "../route/RouteKey.ts"
import * as RouteTable from "../route/RouteTable.ts"

/**
 * The path parameters that a host gives as an object, as texts. A wildcard's segments that come as a list are joined by
 * "/", with "/" inside a segment as `%2F`: two different lists never give the same text.
 */
export const texts = (params: unknown): Record<string, string> => {
  if (typeof params !== "object" || params === null) return {}
  const entries: Array<[string, string]> = []
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === "string") entries.push([name, value])
    if (Array.isArray(value)) entries.push([name, joined(value)])
  }
  return Object.fromEntries(entries)
}

const joined = (segments: ReadonlyArray<unknown>): string =>
  segments.map((segment) => String(segment).replaceAll("/", "%2F")).join("/")

/** Reads the parameters that a route's key names in the path of a target. Throws `Misconfigured` for a key that is none. */
export const inTarget = (key: string): ((target: string) => Readonly<Record<string, string>>) => {
  const parsed = Result.getOrThrow(RouteKey.parse(key))
  const { find } = Result.getOrThrow(RouteTable.make([[parsed, key]]))
  return (target) => {
    const match = find(parsed.method, RequestTarget.pathOf(target))
    return match._tag === "Found" ? match.params : {}
  }
}
