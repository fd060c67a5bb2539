/**
 * Gives the gate the last word about the head of a Node response: its headers are laid over the others at the moment
 * when the head is written, by any writer. A handler that sends by itself, an error, a filter or outer middleware runs
 * after every other place in which an adapter could set headers.
 */
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import { type Granted, headersOf, type ResponseHeader } from "./Decision.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** The members of Node's response that are used, of HTTP/1.1 and of HTTP/2. */
export interface SealableResponse {
  readonly headersSent: boolean
  readonly getHeader: (name: string) => unknown
  readonly getHeaderNames: () => ReadonlyArray<string>
  readonly setHeader: (name: string, value: string) => unknown
  readonly destroy: () => unknown
}

type Entry = readonly [name: string, value: unknown]

/** A response whose status is known when its head is written. */
export interface StatedResponse extends SealableResponse {
  readonly statusCode: number
}

/** Lays the headers of a paid response over it, those for the status with which it is written. */
export const sealPaid = (response: StatedResponse, paid: Pick<Granted, "headers" | "headersFor">): void =>
  sealWith(response, (status, header) => headersOf(paid, status ?? response.statusCode, header))

/**
 * Lays these headers over the response's when they are written, all but `Content-Type`, which belongs to the body. If a
 * response is sealed twice, the first seal wins.
 */
export const seal = (response: SealableResponse, headers: HeaderFields): void =>
  sealWith(response, () => headers, isGivenAs)

/**
 * `mayStay` says which headers may stay with the writer that gives them: of a paid response none, since a copy of it
 * (`ResponseCapture`) has the headers that are set on it.
 */
const sealWith = (
  response: SealableResponse,
  headersAt: (status: number | undefined, header: ResponseHeader) => HeaderFields,
  mayStay: (entries: ReadonlyArray<Entry>, name: string, value: string) => boolean = () => false
): void => {
  const lay = (given: unknown, status: number | undefined): unknown => {
    const entries = entriesOf(given)
    const current = (name: string) => textOf(valueOf(entries, name) ?? response.getHeader(name))
    const { "Content-Type": _, ...sealed } = headersAt(status, current)
    const amended = amendments.get(response)
    const fields = amended === undefined ? sealed : { ...sealed, ...amended }
    const names = [...response.getHeaderNames(), ...entries.map(([name]) => name)]
    const moved = new Set<string>()
    for (const [name, value] of Object.entries(ResponseHeaders.over(fields, current, names))) {
      if (mayStay(entries, name, value)) continue
      if (response.getHeader(name) !== value) response.setHeader(name, value)
      moved.add(name.toLowerCase())
    }
    if (entries.length === 0 || moved.size === 0) return given
    return recordOf(entries.filter(([name]) => !moved.has(name.toLowerCase())))
  }
  seals.set(response, [...(seals.get(response) ?? []), () => lay({}, undefined)])
  beforeHead(response, lay)
}

/** The seals of a response, the first one first. */
const seals = new WeakMap<object, ReadonlyArray<() => void>>()

/**
 * Lays the headers of its seals over a response whose head is never written: Node writes none once the connection is
 * closed, but a copy of such a response leaves later. Without effect on a response whose head is written.
 */
export const applyUnsent = (response: { readonly headersSent: boolean }): void => {
  if (response.headersSent) return
  // The first seal wins, as where the head is written.
  for (const lay of (seals.get(response) ?? []).toReversed()) lay()
}

/** Whether a writer gives a header this value, and once. */
const isGivenAs = (entries: ReadonlyArray<Entry>, name: string, value: string): boolean => {
  if (entries.length === 0) return false
  const those = entries.filter(([one]) => isSameName(one, name))
  return those.length === 1 && those[0]?.[1] === value
}

const isSameName = (one: string, other: string): boolean =>
  one.length === other.length && one.toLowerCase() === other.toLowerCase()

const amendments = new WeakMap<object, HeaderFields>()

/** Replaces these headers of a sealed response, until its head is written. */
export const amend = (response: SealableResponse, headers: HeaderFields): void => void amendments.set(response, headers)

/**
 * Holds a response back until the returned function is called: a writer that begins to send earlier cuts the connection
 * instead. Nothing is thrown: the writer may be a stream without an error listener.
 */
export const hold = (response: SealableResponse): (() => void) => {
  let held = true
  beforeHead(response, (given) => {
    if (!held) return given
    response.destroy()
    return undefined
  })
  return () => {
    held = false
  }
}

/** Cuts the connection instead of writing a head below 400 for which `isRefused` says so. Nothing is thrown, as in `hold`. */
export const guard = (response: StatedResponse, isRefused: () => boolean): void => {
  const write: unknown = Reflect.get(response, "writeHead")
  if (typeof write !== "function") return
  Reflect.set(response, "writeHead", (...given: ReadonlyArray<unknown>): unknown => {
    const [status] = given
    const isGift =
      !response.headersSent && (typeof status === "number" ? status : response.statusCode) < 400 && isRefused()
    if (!isGift) return Reflect.apply(write, response, given)
    response.destroy()
    return response
  })
}

/**
 * Changes the arguments of `writeHead(status)`, `(status, headers)` and `(status, reason, headers)`, which Node itself
 * calls too. No head is written if `change` returns `undefined`.
 */
const beforeHead = (
  response: SealableResponse,
  change: (given: unknown, status: number | undefined) => unknown
): void => {
  const write: unknown = Reflect.get(response, "writeHead")
  if (typeof write !== "function") return
  Reflect.set(response, "writeHead", (...given: ReadonlyArray<unknown>): unknown => {
    const last = given.at(-1)
    const hasHeaders = typeof last === "object" && last !== null
    const head = hasHeaders ? given.slice(0, -1) : given
    if (response.headersSent) return Reflect.apply(write, response, given)
    const [status] = given
    const changed = change(hasHeaders ? last : {}, typeof status === "number" ? status : undefined)
    return changed === undefined ? response : Reflect.apply(write, response, [...head, changed])
  })
}

/** Calls `see` with the status once the head of a response has been written, by any writer. */
export const afterHead = (
  response: { readonly headersSent: boolean; readonly statusCode: number },
  see: (status: number) => void
): void => {
  const write: unknown = Reflect.get(response, "writeHead")
  if (typeof write !== "function") return
  Reflect.set(response, "writeHead", (...given: ReadonlyArray<unknown>): unknown => {
    const wasSent = response.headersSent
    const returned: unknown = Reflect.apply(write, response, given)
    if (!wasSent && response.headersSent) see(response.statusCode)
    return returned
  })
}

const entriesOf = (given: unknown): ReadonlyArray<Entry> => {
  if (!Array.isArray(given)) return typeof given === "object" && given !== null ? Object.entries(given) : []
  const flat: ReadonlyArray<unknown> = given.flatMap((item: unknown) => item)
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[String(name), flat[index + 1]] as const] : []))
}

/** The headers in the last argument of a `writeHead`, a record or a list, as a record. */
export const headersIn = (given: unknown): Readonly<Record<string, unknown>> => recordOf(entriesOf(given))

/** A record of the entries; Node 20 keeps only one of several entries of a name unless they are a list. */
const recordOf = (entries: ReadonlyArray<Entry>): Readonly<Record<string, unknown>> => {
  const values = new Map<string, Entry>()
  for (const [name, value] of entries) {
    const [first, before] = values.get(name.toLowerCase()) ?? [name]
    values.set(name.toLowerCase(), [first, before === undefined ? value : [before, value].flat()])
  }
  return Object.fromEntries(values.values())
}

const valueOf = (entries: ReadonlyArray<Entry>, name: string): unknown =>
  entries.length === 0 ? undefined : entries.findLast(([one]) => isSameName(one, name))?.[1]

/** The value of a header as one text. */
export const textOf = (value: unknown): string | undefined => {
  if (Array.isArray(value)) return value.join(", ")
  return typeof value === "string" || typeof value === "number" ? `${value}` : undefined
}
