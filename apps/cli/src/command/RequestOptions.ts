/** The options of a request, as curl has them. */
import { readFileSync } from "node:fs"

import { isLoopback } from "@pontage/core"

import { misused } from "../CommandFailed.ts"
import type { OptionTable, Values } from "../CommandLine.ts"
import * as SafeText from "../terminal/SafeText.ts"
import { TimedOut } from "./CommandContext.ts"

/** The table. */
export const table = {
  request: { short: "X", value: "method", help: "The method; default GET, or POST with -d" },
  data: { short: "d", value: "text", many: true, help: "The body: a text, @file, or @- for standard input" },
  header: { short: "H", value: "name: value", many: true, help: "A header, or @file with one in each line" },
  location: { short: "L", help: "Follow redirects; a payment never follows one to another origin" },
  "max-time": { short: "m", value: "seconds", help: "Stop after this time" }
} as const satisfies OptionTable

/** A request that can be sent. */
export interface RequestPlan {
  readonly url: URL
  /** Whether the server is on this machine. */
  readonly isLocal: boolean
  readonly init: RequestInit & { readonly method: string; readonly headers: Headers }
  readonly maxSeconds: number | undefined
}

/** The URL of an argument; `https` if it has no scheme, `http` on this machine. */
const urlOf = (words: ReadonlyArray<string>, command: string): URL => {
  const [text, ...more] = words
  if (text === undefined || more.length > 0) throw misused(`expected one URL: pontage ${command} <url>`)
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : withScheme(text)
  if (!URL.canParse(full)) throw misused(`"${SafeText.line(text)}" is not a URL`)
  const url = new URL(full)
  if (url.protocol !== "https:" && url.protocol !== "http:") throw misused(`${url.protocol} is not http or https`)
  if (url.username !== "" || url.password !== "") {
    throw misused("a URL with a user or a password is not sent: use -H 'authorization: ...'")
  }
  return url
}

const withScheme = (text: string): string => {
  const host = text.split("/")[0] ?? ""
  const isOwn = URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)
  return `${isOwn ? "http" : "https"}://${text}`
}

const fileText = (path: string): Buffer => {
  try {
    return readFileSync(path === "-" ? 0 : path)
  } catch (error) {
    throw misused(`the file ${path} cannot be read: ${error instanceof Error ? error.message : "unknown"}`)
  }
}

const bodyOf = (texts: ReadonlyArray<string>): Uint8Array<ArrayBuffer> | undefined => {
  if (texts.length === 0) return undefined
  const parts = texts.map((text) => (text.startsWith("@") ? fileText(text.slice(1)) : Buffer.from(text)))
  const joined = parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.from("&"), part]))
  return Uint8Array.from(Buffer.concat(joined))
}

const headersOf = (texts: ReadonlyArray<string>): Headers => {
  const rows = texts.flatMap((text) =>
    text.startsWith("@") ? fileText(text.slice(1)).toString("utf8").split(/\r?\n/).filter(Boolean) : [text]
  )
  const headers = new Headers({ "user-agent": "pontage/0.1.0", accept: "*/*" })
  for (const row of rows) {
    const at = row.indexOf(":")
    const name = row.slice(0, at).trim()
    // The value may be a secret, so no message repeats it.
    if (at < 1) throw misused("-H: expected name: value")
    try {
      headers.set(name, row.slice(at + 1).trim())
    } catch {
      throw misused(`-H: the header ${SafeText.line(name)} is not valid`)
    }
  }
  return headers
}

const methodGrammar = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$/

const secondsOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (!(seconds > 0) || seconds > 86_400) throw misused(`--max-time: expected seconds up to 86400, got "${text}"`)
  return seconds
}

/** The request of the arguments of a command. */
export const read = (values: Values<typeof table>, words: ReadonlyArray<string>, command: string): RequestPlan => {
  const url = urlOf(words, command)
  const body = bodyOf(values.data ?? [])
  const headers = headersOf(values.header ?? [])
  if (body !== undefined && !headers.has("content-type")) {
    headers.set("content-type", "application/x-www-form-urlencoded")
  }
  const method = (values.request ?? (body === undefined ? "GET" : "POST")).toUpperCase()
  if (!methodGrammar.test(method)) throw misused(`-X: "${SafeText.line(method)}" is not a method`)
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    throw misused(`a ${method} has no body: leave out -d`)
  const redirect = values.location === true ? "follow" : "manual"
  return {
    url,
    isLocal: isLoopback(url.hostname),
    init: { method, headers, redirect, ...(body !== undefined && { body }) },
    maxSeconds: secondsOf(values["max-time"])
  }
}

/** The signal of a command, which ends at `--max-time` too. */
export const withTime = (signal: AbortSignal, { maxSeconds }: RequestPlan): AbortSignal => {
  if (maxSeconds === undefined) return signal
  const timer = new AbortController()
  setTimeout(() => timer.abort(new TimedOut(maxSeconds)), maxSeconds * 1000).unref()
  return AbortSignal.any([signal, timer.signal])
}
