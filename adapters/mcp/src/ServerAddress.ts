/**
 * The address of a client's tools, which the payer's rules refer to. A transport over HTTP has a URL; any other has the
 * name that the payer gives it.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Misconfigured } from "@pontage/core"
import * as Result from "effect/Result"

/**
 * Reads the name of a server: a host (`"weather"`), which stands for `https://weather/`, or a URL. Fails with
 * `Misconfigured`.
 */
export const fromName = (name: string): Result.Result<URL, Misconfigured> => {
  const text = name.includes("://") ? name : `https://${name}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && (name.includes("://") || url.host === name.toLowerCase())) return Result.succeed(url)
  const message = `server: expected a name such as "weather" or the URL of an MCP server, got ${JSON.stringify(name)}`
  return Result.fail(new Misconfigured({ message }))
}

/** The URL of a transport if it has one, and otherwise the name. Fails with `Misconfigured` if both are missing. */
export const of = (transport: Transport | undefined, named: URL | undefined): Result.Result<URL, Misconfigured> => {
  const url = transport === undefined ? undefined : urlOf(transport)
  if (url !== undefined) return Result.succeed(plain(url))
  if (named !== undefined) return Result.succeed(plain(named))
  const message =
    'server: this transport has no URL; give the server a name, such as server: "weather", to pay for its tools'
  return Result.fail(new Misconfigured({ message }))
}

/** The URL of the SDK's own transports, in a field that is not public. */
const urlOf = (transport: Transport): URL | undefined => {
  const url: unknown = Reflect.get(transport, "_url")
  return url instanceof URL ? url : undefined
}

/**
 * The URL for rules and journal: a web socket is as secure as the HTTP request that opens it, and credentials are
 * removed, because they do not belong in a journal.
 */
const plain = (url: URL): URL => {
  const address = new URL(url.href.replace(/^ws(?=s?:)/, "http"))
  address.username = ""
  address.password = ""
  return address
}
