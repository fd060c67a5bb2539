/**
 * How the gate's headers join those that the application has set: lists are extended, and a handler may make caching
 * stricter but never laxer.
 */
import type { HeaderFields } from "../wire/Dialect.ts"

/**
 * The gate's headers as they must be set over those the response has now. `Vary` and `Access-Control-Expose-Headers` keep
 * what they list already. `Cache-Control` of the application is kept only where it is at least as strict: `no-store`, or
 * `private` without `public`.
 *
 * @category conversions
 */
export const over = (fields: HeaderFields, current: (name: string) => string | undefined): HeaderFields => {
  const merged: Record<string, string> = {}
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
    case "Cache-Control":
      return value !== "no-store" && isStrict(present) ? present : value
    default:
      return value
  }
}

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
  const directives = new Set(listOf(cacheControl.toLowerCase()))
  return directives.has("no-store") || (directives.has("private") && !directives.has("public"))
}
