/**
 * The paths that one request path may mean to the routers, proxies and mount points of this world. A gate that stands
 * before a router it does not know looks at all of them, so that it never lets pass what the router would serve.
 */
import { decodeLeniently } from "./RouteKey.ts"

/**
 * One reading of a path, in segments. `exact`: as it came, to be compared as written; otherwise it was brought into a
 * canonical form and is compared with canonical literals.
 */
export interface PathForm {
  readonly exact: boolean
  readonly parts: ReadonlyArray<string>
  /** The same segments as values of parameters: decoded, their case kept. A router gives its handlers these. */
  readonly values: ReadonlyArray<string>
}

/** Deeper encodings are read by nobody. */
const decodings = 3

/** The readings of a path (without its query), the path as it came first. */
export const make = (path: string): ReadonlyArray<PathForm> => {
  const asItCame = split(path)
  const values = asItCame.map(decodeLeniently)
  const forms: Array<PathForm> = [{ exact: true, parts: asItCame, values }]
  if (isPlain(path)) {
    forms.push({ exact: false, parts: lower(asItCame), values })
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

/** Nothing to decode, no doubled slash, no segment that starts with a dot, no matrix parameter, no backslash. */
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
