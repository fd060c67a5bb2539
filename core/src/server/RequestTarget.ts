/**
 * The request target as it came (RFC 9112, 3.2), reduced to path and query. An absolute form names a host of the
 * client's choosing; that name is not ours and is dropped.
 */

/**
 * Path and query of a request target; always starts with a slash.
 *
 * @category conversions
 */
export const of = (target: string): string => {
  if (target.startsWith("/")) return target
  const scheme = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)
  if (scheme === null) return "/"
  const rest = target.slice(scheme[0].length)
  return rest.startsWith("/") ? rest : `/${rest}`
}

/**
 * The path alone.
 *
 * @category getters
 */
export const pathOf = (target: string): string => {
  const whole = of(target)
  const end = whole.search(/[?#]/)
  return end === -1 ? whole : whole.slice(0, end)
}

/**
 * The query's values by name; several values of one name as a list.
 *
 * @category getters
 */
export const queryOf = (target: string): Record<string, string | ReadonlyArray<string>> => {
  const start = target.indexOf("?")
  const query = new URLSearchParams(start === -1 ? "" : target.slice(start + 1))
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name)
      return [name, values.length === 1 ? (values[0] ?? "") : values]
    })
  )
}
