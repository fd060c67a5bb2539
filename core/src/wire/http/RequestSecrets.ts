/**
 * Hides the secrets of a request's URL and headers. Providers put their customers' keys there, and some servers and
 * HTTP clients repeat them in messages, which end up in logs and records. One rule for all servers that we send
 * requests to.
 */
import * as Base64Text from "../../protocol/text/Base64Text.ts"

/** Hides the secrets in a text. */
export type Mask = (text: string) => string

/** In characters: a shorter path segment or query name is a word of an API such as `v2` or `mainnet`, not a key. */
const shortestName = 12

/** In characters: a shorter word of a header is `Bearer` or `Basic`, not a key. */
const shortestWord = 8

/** In characters: hiding shorter values would make messages unreadable. */
const shortestSecret = 4

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** User and password of a URL, decoded; `undefined` without both. */
const credentialsOf = ({ password, username }: URL): readonly [string, string] | undefined =>
  username === "" && password === "" ? undefined : [unescaped(username), unescaped(password)]

/**
 * The value of the header `authorization` for a URL's user and password (RFC 7617, UTF-8); `undefined` if the URL has
 * neither.
 */
export const authorization = (url: URL): string | undefined => {
  const credentials = credentialsOf(url)
  return credentials && `Basic ${Base64Text.encode(credentials.join(":"))}`
}

const ofCredentials = (url: URL): ReadonlyArray<string> => {
  const credentials = credentialsOf(url)
  return credentials === undefined
    ? []
    : [url.username, url.password, ...credentials, Base64Text.encode(credentials.join(":"))]
}

const ofPath = ({ pathname }: URL): ReadonlyArray<string> =>
  pathname.split("/").filter((segment) => segment.length >= shortestName)

/** The query's values; also a name without a value, if it is long enough for a key. */
const ofQuery = ({ search }: URL): ReadonlyArray<string> =>
  search
    .slice(1)
    .split("&")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=")
      if (value.length > 0) return value.join("=")
      return name.length >= shortestName ? name : ""
    })
    .flatMap((value) => [value, value.replaceAll("+", " ")])

const ofHeader = (value: string): ReadonlyArray<string> => [
  value,
  ...value.split(" ").filter((word) => word.length >= shortestWord)
]

/**
 * The mask for a request's URL and the user's headers: credentials and their base64, long segments of the path, the
 * query's values, the headers' values; each as written and with its percent-encoding decoded.
 */
export const mask = (url: URL, headers: Readonly<Record<string, string>> = {}): Mask => {
  const written = [...ofPath(url), ...ofQuery(url)]
  const all = [
    ...ofCredentials(url),
    ...written,
    ...written.map(unescaped),
    ...Object.values(headers).flatMap(ofHeader)
  ]
  const secrets = [...new Set(all)]
    .filter((secret) => secret.length >= shortestSecret)
    .toSorted((a, b) => b.length - a.length)
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "<hidden>"), text)
}

/** Maximum depth of nested causes; errors are nested two deep in practice (`fetch failed`, then the socket's error). */
const deepestCause = 4

/**
 * The reason why an exchange failed, without its secrets: some platforms put the URL into the message, the stack or a
 * field of their errors. It keeps name, message, stack, `code`, and the same of up to four nested causes.
 */
export const maskedReason = (mask: Mask, reason: unknown, depth: number = deepestCause): unknown => {
  if (!(reason instanceof Error)) return typeof reason === "string" ? mask(reason) : undefined
  const isNested = reason.cause !== undefined && depth > 0
  const copy = new Error(
    mask(reason.message),
    isNested ? { cause: maskedReason(mask, reason.cause, depth - 1) } : undefined
  )
  const { stack = "" } = reason
  return Object.assign(
    Object.defineProperty(copy, "stack", { value: mask(stack), configurable: true, writable: true }),
    {
      name: reason.name,
      ...("code" in reason && typeof reason.code === "string" && { code: reason.code })
    }
  )
}
