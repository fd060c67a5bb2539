/**
 * Challenges of the HTTP authentication scheme `Payment` as a payer reads them (draft-httpauth-payment-00, RFC 9110 section
 * 11.6.1): a header may hold challenges of several schemes, and a quoted string may hold anything that looks like one.
 */
import * as MppText from "./MppText.ts"

/** A challenge's parameters, by their names in lower case. */
export type Parameters = Readonly<Record<string, string>>

/** The challenges that were read, and the reason why others were not. */
export interface Challenges {
  readonly readable: ReadonlyArray<Parameters>
  readonly fault: string | undefined
}

/** Limits in characters: of all challenges of a response, and of one challenge's `request`. */
const maximumLength = 64 * 1024
const maximumRequestLength = 16 * 1024

/** The parameters that a credential repeats. Others are not known to this payer. */
const echoed = ["id", "realm", "method", "intent", "request", "description", "digest", "expires", "opaque", "header"]
const required = echoed.slice(0, 5)

const token = "[!#$%&'*+.^_`|~\\w-]+"
const parameter = new RegExp(`^(${token})[ \\t]*=[ \\t]*(?:"([^"\\\\]*(?:\\\\.[^"\\\\]*)*)"|(${token}))$`, "s")
const beginning = new RegExp(`^(${token})(?:[ \\t]+(\\S.*))?$`, "s")

/** Whether the text may hold a challenge of this scheme; a guess, without reading it. */
export const isLikely = (header: string | null): boolean =>
  header !== null && /(?:^|[\s,])payment(?:\s|$)/i.test(header)

/** Reads the value of a `WWW-Authenticate` header, or of several that were joined by commas. */
export const parse = (header: string): Challenges => {
  if (header.length > maximumLength) return { readable: [], fault: `longer than ${maximumLength} characters` }
  const drafts: Array<Array<string>> = []
  for (const element of elementsOf(header)) {
    if (parameter.test(element)) {
      drafts.at(-1)?.push(element)
      continue
    }
    const [, scheme = "", first] = beginning.exec(element) ?? []
    drafts.push([scheme.toLowerCase(), ...(first === undefined ? [] : [first])])
  }
  return of(drafts.filter(([scheme]) => scheme === "payment").map(([, ...parts]) => parametersOf(parts)))
}

/** Checks challenges whose parameters are known already. */
export const of = (challenges: ReadonlyArray<Parameters | string>): Challenges => {
  const checked = challenges.map((one) => (typeof one === "string" ? one : (faultOf(one) ?? one)))
  return {
    readable: checked.filter((one) => typeof one !== "string"),
    fault: checked.find((one) => typeof one === "string")
  }
}

/** The parts of the header between commas outside of quoted strings. An open quoted string ends it: its part is dropped. */
const elementsOf = (header: string): ReadonlyArray<string> => {
  const elements: Array<string> = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at <= header.length; at++) {
    const character = header[at]
    if (isQuoted && character === "\\") at++
    else if (character === '"') isQuoted = !isQuoted
    else if ((character === "," && !isQuoted) || (character === undefined && !isQuoted)) {
      elements.push(header.slice(start, at).trim())
      start = at + 1
    }
  }
  return elements.filter((element) => element !== "")
}

const parametersOf = (parts: ReadonlyArray<string>): Parameters | string => {
  const found = new Map<string, string>()
  for (const part of parts) {
    const [whole, name = "", quoted, bare = ""] = parameter.exec(part) ?? []
    if (whole === undefined) return `"${part.slice(0, 40)}" is no parameter`
    const key = name.toLowerCase()
    if (found.has(key)) return `the parameter "${key}" comes twice`
    found.set(key, quoted?.replaceAll(/\\(.)/gs, "$1") ?? bare)
  }
  return Object.fromEntries(echoed.flatMap((key) => (found.has(key) ? [[key, found.get(key) ?? ""]] : [])))
}

// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const control = /[\u0000-\u001f\u007f]/

const faultOf = (challenge: Parameters): string | undefined => {
  const missing = required.find((name) => (challenge[name] ?? "") === "")
  if (missing !== undefined) return `the parameter "${missing}" is missing`
  if ((challenge["request"] ?? "").length > maximumRequestLength) {
    return `its request is longer than ${maximumRequestLength} characters`
  }
  const wrong = Object.keys(challenge).find(
    (name) => control.test(challenge[name] ?? "") || !MppText.isWellFormed(challenge[name] ?? "")
  )
  return wrong === undefined ? undefined : `the parameter "${wrong}" holds a character that a header cannot carry`
}
