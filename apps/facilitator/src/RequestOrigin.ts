/**
 * Where a request comes from, for limits on those who show no key. Only the connection is believed, never a header; of an
 * IPv6 address the first 64 bits count, because who has one address of such a network has all of them.
 */
import { isIPv6 } from "node:net"

import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"

/**
 * The key of the requests that come from one place.
 *
 * @category conversions
 */
export const fromAddress = (address: string): string => {
  const bare = address.replace(/%.*$/, "").toLowerCase()
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1]
  if (mapped !== undefined || !isIPv6(bare)) return mapped ?? bare
  return `${networkOf(bare)}::/64`
}

/** The first four groups, without leading zeros. */
const networkOf = (address: string): string => {
  const [front = "", back] = address.split("::")
  const before = groupsOf(front)
  const after = back === undefined ? [] : groupsOf(back)
  const gap = back === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  return [...before, ...Array.from({ length: gap }, () => "0"), ...after].slice(0, 4).join(":")
}

const groupsOf = (text: string): ReadonlyArray<string> =>
  text === "" ? [] : text.split(":").map((group) => group.replace(/^0+(?=.)/, ""))

/**
 * What belongs to the place that a request comes from, made once for each connection: its address never changes.
 *
 * @category combinators
 */
export const perConnection = <A>(make: (place: string) => A): ((request: HttpServerRequest.HttpServerRequest) => A) => {
  const known = new WeakMap<object, A>()
  return (request) => {
    const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
    const found = known.get(socket) ?? make(fromAddress(Option.getOrElse(request.remoteAddress, () => "")))
    known.set(socket, found)
    return found
  }
}
