/**
 * The key of a route in a map (apps/docs/protocol.md#d28-routes): a method, a space and a path with `:param` segments and a `*` at its
 * end, for example `GET /reports/:day` or `GET /files/*`.
 */
import * as Result from "effect/Result"

import { Misconfigured } from "../../protocol/ProtocolError.ts"

/**
 * One segment of a path pattern. A literal is compared as written, and in its canonical form for paths as lenient
 * routers read them.
 */
export type Segment =
  | { readonly _tag: "Literal"; readonly text: string; readonly canonical: string }
  | { readonly _tag: "Parameter"; readonly name: string }
  | { readonly _tag: "Rest" }

/** A parsed key. */
export interface RouteKey {
  readonly text: string
  /** Method in upper case. `GET` includes HEAD. */
  readonly method: string
  readonly segments: ReadonlyArray<Segment>
}

/** The method of a key for a request or a route: HEAD counts as GET. */
export const soldMethod = (method: string): string => {
  const upper = method.toUpperCase()
  return upper === "HEAD" ? "GET" : upper
}

const grammar = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\/[^\s?#]*)$/

/** Reads a key. Fails with a message that quotes it and says how to write it. */
export const parse = (text: string): Result.Result<RouteKey, Misconfigured> => {
  const match = grammar.exec(text)
  const method = match?.[1]
  const path = match?.[2]
  if (method === undefined || path === undefined) {
    return mistake(text, 'expected a method, one space and a path from "/", for example "GET /report"')
  }
  if (method !== method.toUpperCase()) return mistake(text, `write the method in capitals: ${method.toUpperCase()}`)
  if (method === "HEAD") return mistake(text, "HEAD is covered by GET; write the GET route")
  if (method === "OPTIONS") return mistake(text, "OPTIONS is never sold; take the route out")
  return Result.map(parsePath(text, path), (segments) => ({ text, method, segments }))
}

const parsePath = (text: string, path: string): Result.Result<ReadonlyArray<Segment>, Misconfigured> => {
  if (/[\\{}()[\]+;]/.test(path)) {
    return mistake(text, "only literal segments, :param and a * at the end are understood; list each path by itself")
  }
  const segments = segmentsOf(path)
  for (const [index, segment] of segments.entries()) {
    if (segment._tag === "Literal" && /^(\.{0,2})$/.test(segment.canonical)) {
      return mistake(text, "empty and dot segments are never served; write the path without them")
    }
    if (segment._tag === "Rest" && index !== segments.length - 1) {
      return mistake(text, "* stands for the rest of the path and must come last; write :name for one segment")
    }
  }
  return Result.succeed(segments)
}

const mistake = (text: string, mend: string) =>
  Result.fail(new Misconfigured({ message: `route ${JSON.stringify(text)}: ${mend}` }))

/**
 * The segments of a path pattern; one slash at its end is ignored. A segment that holds a parameter among other text
 * counts as a parameter.
 */
export const segmentsOf = (path: string): ReadonlyArray<Segment> => {
  const parts = path.split("/").slice(1)
  if (parts.at(-1) === "") parts.pop()
  return parts.map((part) => {
    if (part.startsWith("*")) return { _tag: "Rest" }
    if (part.includes(":")) return { _tag: "Parameter", name: part.startsWith(":") ? part.slice(1) : part }
    return { _tag: "Literal", text: part, canonical: decodeLeniently(part).toLowerCase() }
  })
}

/** Percent-decodes without ever failing: in a run of bytes that is not UTF-8, only the ASCII ones are decoded. */
export const decodeLeniently = (text: string): string =>
  text.includes("%")
    ? text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
        Result.getOrElse(
          Result.try(() => decodeURIComponent(encoded)),
          () => encoded.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent)
        )
      )
    : text

/** Whether the text is percent-encoded UTF-8, or has nothing to decode. */
export const isDecodable = (text: string): boolean =>
  !text.includes("%") || Result.isSuccess(Result.try(() => decodeURIComponent(text)))

/** Whether every path of the pattern `other` is a path of `self`. Literals cover each other regardless of case. */
export const covers = (self: ReadonlyArray<Segment>, other: ReadonlyArray<Segment>): boolean => {
  for (const [index, segment] of self.entries()) {
    const opposite = other[index]
    if (segment._tag === "Rest") return true
    if (opposite === undefined || opposite._tag === "Rest") return false
    if (segment._tag === "Literal" && !(opposite._tag === "Literal" && opposite.canonical === segment.canonical)) {
      return false
    }
  }
  return self.length === other.length
}

/**
 * Parameters that `self` names and `other`, whose paths it covers, does not. A router that matches `other` gives a
 * price function none of them, though their names stand in the key.
 */
export const unnamedIn = (self: ReadonlyArray<Segment>, other: ReadonlyArray<Segment>): ReadonlyArray<string> => {
  const named = namesOf(other)
  return namesOf(self).filter((name) => !named.includes(name))
}

/** The names of parameters; a segment that holds a parameter among other text names none. */
const namesOf = (segments: ReadonlyArray<Segment>): ReadonlyArray<string> =>
  segments.flatMap((segment) => (segment._tag === "Parameter" && !segment.name.includes(":") ? [segment.name] : []))

/** Whether both patterns share a path. */
export const meets = (self: ReadonlyArray<Segment>, other: ReadonlyArray<Segment>): boolean => {
  for (const [index, segment] of self.entries()) {
    const opposite = other[index]
    if (segment._tag === "Rest" || opposite?._tag === "Rest") return true
    if (opposite === undefined) return false
    if (segment._tag === "Literal" && opposite._tag === "Literal" && segment.canonical !== opposite.canonical)
      return false
  }
  return self.length === other.length || other[self.length]?._tag === "Rest"
}

/** A path as a pattern of literals only, whatever characters it holds. */
export const literals = (path: string): ReadonlyArray<Segment> => {
  const parts = path.split("/").slice(1)
  if (parts.at(-1) === "") parts.pop()
  return parts.map((text) => ({ _tag: "Literal", text, canonical: decodeLeniently(text).toLowerCase() }))
}

/**
 * Compares which of two patterns is more specific, from left to right: a literal (or the path's end) before a
 * parameter, a parameter before the rest. Negative if it is `self`.
 */
export const compare = (self: ReadonlyArray<Segment>, other: ReadonlyArray<Segment>): number => {
  for (let index = 0; index < Math.max(self.length, other.length); index++) {
    const difference = rankOf(self[index]) - rankOf(other[index])
    if (difference !== 0) return difference
  }
  return 0
}

const rankOf = (segment: Segment | undefined): number => (segment === undefined ? 0 : rank[segment._tag])

const rank = { Literal: 0, Parameter: 1, Rest: 2 } as const
