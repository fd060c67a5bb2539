/**
 * Allowed targets of webhooks. A name is resolved when the connection is made, every address found must be public, and the
 * connection uses those very addresses, so that a second DNS answer cannot redirect it.
 */
import { lookup as resolve } from "node:dns"
import { isIP, type LookupFunction } from "node:net"

import * as PrivateAddress from "./PrivateAddress.ts"

/** Whether a text is the URL of a webhook: http or https, without a user or password. */
export const isUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { password, protocol, username } = new URL(text)
  return (protocol === "https:" || protocol === "http:") && username === "" && password === ""
}

/**
 * Reason not to send to this URL; `undefined` if there is none. Plain http is for private networks only, because every network
 * in between can read the payment.
 */
export const objection = (url: URL, allowPrivate: boolean): string | undefined => {
  if (!isUrl(url.href)) return "the url is neither http nor https, or contains a user"
  if (allowPrivate) return undefined
  if (url.protocol !== "https:") return "the url is not https"
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  return isIP(host) !== 0 && !PrivateAddress.isPublic(host) ? "the url leads to a private network" : undefined
}

/** DNS lookup for a connection. It fails when any address of the name is private. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, [])
    if (found.length === 0 || found.some(({ address }) => !PrivateAddress.isPublic(address))) {
      return callback(new PrivateHost(), [])
    }
    const [first] = found
    if (options.all === true || first === undefined) return callback(null, found)
    return callback(null, first.address, first.family)
  })
}

/** A name that resolves to a private address. */
export class PrivateHost extends Error {
  readonly code = "EPRIVATE"
  constructor() {
    super("the host's name leads to a private network")
  }
}
