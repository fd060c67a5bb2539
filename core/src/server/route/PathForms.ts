/**
 * The paths that one request path may mean to routers, proxies and mount points. A gate in front of an unknown router
 * checks all of them, so that it never lets a path pass that the router would serve.
 */
import { decodeLeniently } from "./RouteKey.ts"

/**
 * One reading of a path, in segments. `exact`: as sent, compared literally; otherwise in canonical form, compared with
 * canonical literals.
 */
export interface PathForm {
  readonly exact: boolean
  readonly parts: ReadonlyArray<string>
  /** The same segments as parameter values: decoded, their case kept, as routers give them to handlers. */
  readonly values: ReadonlyArray<string>
}

/** Levels of percent-encoding that some reader decodes. */
const decodings = 3

/** The readings of a path (without its query), the path as sent first. */
export const make = (path: string): ReadonlyArray<PathForm> => {
  const asSent = split(path)
  const values = asSent.map(decodeLeniently)
  const forms: Array<PathForm> = [{ exact: true, parts: asSent, values }]
  if (isPlain(path)) {
    forms.push({ exact: false, parts: lower(asSent), values })
    return forms
  }
  let text = path
  for (let round = 0; round <= decodings; round++) {
    for (const parts of [split(text), canonical(text)]) {
      forms.push({ exact: false, parts: lower(parts), values: round === 0 ? parts.map(decodeLeniently) : parts })
    }
    const decoded = decodeLeniently(text)
    if (decoded === text) break
    text = decoded
  }
  return forms
}

const lower = (parts: ReadonlyArray<string>): ReadonlyArray<string> => parts.map((part) => part.toLowerCase())

/**
 * Whether a path has one reading: nothing to decode, no doubled slash, no segment that starts with a dot, no matrix
 * parameter, no backslash.
 */
const isPlain = (path: string): boolean => !/[%\\;]|\/\/|\/\./.test(path)

const split = (path: string): ReadonlyArray<string> => {
  const parts = path.split("/")
  if (parts[0] === "") parts.shift()
  if (parts.at(-1) === "") parts.pop()
  return parts
}

const canonical = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  for (const part of text.replaceAll("\\", "/").split("/")) {
    const end = part.indexOf(";")
    const name = end === -1 ? part : part.slice(0, end)
    if (name === "..") parts.pop()
    else if (name !== "" && name !== ".") parts.push(name)
  }
  return parts
}
