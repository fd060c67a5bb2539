/**
 * Joins the gate's headers with those that the application has set: lists are extended, and a handler may make caching
 * stricter but never laxer, for every cache on the way.
 */
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"

/**
 * The gate's headers as they must be set over the response's current ones, whose names are `names`. `Vary` and
 * `Access-Control-Expose-Headers` keep their current items, `WWW-Authenticate` its current challenges. The application's `Cache-Control` is kept only if it is at
 * least as strict: `no-store`, or `private` without `public` and `s-maxage`. If the response is private, every other
 * header that some cache obeys is overwritten: targeted ones (RFC 9213, `CDN-Cache-Control` and its like), those of
 * single products, `Expires` and `Pragma`.
 */
export const over = (
  fields: HeaderFields,
  current: (name: string) => string | undefined,
  names: Iterable<string> = []
): HeaderFields => {
  const merged: Record<string, string> = {}
  if (isStrict(fields["Cache-Control"] ?? "")) {
    for (const name of names) {
      const closed = closedTo(name.toLowerCase())
      if (closed !== undefined) merged[name] = closed
    }
  }
  for (const [name, value] of Object.entries(fields)) {
    const present = current(name)
    const isJoined = present !== undefined && present !== "" && present !== value
    merged[name] = isJoined ? join(name, value, present) : value
  }
  return merged
}

const join = (name: string, value: string, present: string): string => {
  switch (name) {
    case "Vary":
    case "Access-Control-Expose-Headers":
      return union(present, value)
    case "WWW-Authenticate":
      return present.includes(value) ? present : `${present}, ${value}`
    case "Cache-Control":
      return value !== "no-store" && isStrict(present) ? present : value
    default:
      return value
  }
}

/** The value of a header that forbids its cache to keep the response; `undefined` for a header that no cache obeys. */
const closedTo = (name: string): string | undefined =>
  name.endsWith("-cache-control") ? "no-store" : closedByName.get(name)

const closedByName: ReadonlyMap<string, string> = new Map([
  ["surrogate-control", "no-store"],
  ["edge-control", "no-store"],
  ["x-accel-expires", "0"],
  ["expires", "0"],
  ["pragma", "no-cache"]
])

const listOf = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")

const union = (present: string, added: string): string => {
  const items = [...listOf(present)]
  const known = new Set(items.map((item) => item.toLowerCase()))
  for (const item of listOf(added)) if (!known.has(item.toLowerCase())) items.push(item)
  return items.join(", ")
}

/** Directives by name only: `private="x-field"` is weaker than `private` and does not count. */
const isStrict = (cacheControl: string): boolean => {
  if (cacheControl === "no-store" || cacheControl === "private") return true
  const directives = new Set(listOf(cacheControl.toLowerCase()))
  const isShared = directives.has("public") || [...directives].some((directive) => directive.startsWith("s-maxage"))
  return directives.has("no-store") || (directives.has("private") && !isShared)
}
