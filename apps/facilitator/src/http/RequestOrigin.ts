/**
 * Where a request comes from, for limits on those who show no key. Only the connection is believed, never a header; of an
 * IPv6 address the first 64 bits count, because who has one address of such a network has all of them.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { AddressPlace } from "@pontage/core"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"

/** The key of the requests that come from one place. */
export const fromAddress = AddressPlace.of

/** What belongs to the place that a request comes from, made once for each connection: its address never changes. */
export const perConnection = <A>(make: (place: string) => A): ((request: HttpServerRequest.HttpServerRequest) => A) => {
  const known = new WeakMap<object, A>()
  return (request) => {
    const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
    const found = known.get(socket) ?? make(fromAddress(Option.getOrElse(request.remoteAddress, () => "")))
    known.set(socket, found)
    return found
  }
}
