/**
 * The request target as sent (RFC 9112, 3.2), reduced to path and query. An absolute form names a host of the client's
 * choosing; that name is dropped.
 */

/** Path and query of a request target; always starts with a slash. */
export const of = (target: string): string => {
  if (target.startsWith("/")) return target
  const scheme = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)
  if (scheme === null) return "/"
  const rest = target.slice(scheme[0].length)
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** The path alone. */
export const pathOf = (target: string): string => {
  const whole = of(target)
  const end = whole.search(/[?#]/)
  return end === -1 ? whole : whole.slice(0, end)
}

/**
 * Whether parsers read this target in different ways: a fragment, which HTTP forbids here, ends the query for some and
 * belongs to it for others; a second question mark at the start of the query is dropped by some and kept by others.
 */
export const isAmbiguous = (target: string): boolean => target.includes("#") || /^[^?]*\?\?/.test(target)
