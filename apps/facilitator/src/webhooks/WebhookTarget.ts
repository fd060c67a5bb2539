/**
 * Where webhooks may be sent. A name is resolved when it is connected to, every address found must be public, and the
 * connection goes to the very addresses that were looked at: a name that answers otherwise the second time gains nothing.
 */
import { lookup as resolve } from "node:dns"
import { isIP, type LookupFunction } from "node:net"

import * as PrivateAddress from "./PrivateAddress.ts"

/** Whether a text is the URL of a webhook: http or https, with nothing in front of the host. */
export const isUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { password, protocol, username } = new URL(text)
  return (protocol === "https:" || protocol === "http:") && username === "" && password === ""
}

/**
 * Why nothing is sent to this URL as it stands; `undefined` when nothing speaks against it. Plain http is for private
 * networks alone: it shows the payment to everybody on the way.
 */
export const objection = (url: URL, allowPrivate: boolean): string | undefined => {
  if (!isUrl(url.href)) return "the url is neither http nor https, or holds a user"
  if (allowPrivate) return undefined
  if (url.protocol !== "https:") return "the url is not https"
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  return isIP(host) !== 0 && !PrivateAddress.isPublic(host) ? "the url is of a private network" : undefined
}

/** A look-up for a connection: of public addresses only. It fails when any address of the name is private. */
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

/** The name leads to a private network. */
export class PrivateHost extends Error {
  readonly code = "EPRIVATE"
  constructor() {
    super("the host's name leads to a private network")
  }
}
