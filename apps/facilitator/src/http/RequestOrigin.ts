/**
 * Origin of a request, for limits on requests without a key. It is taken from the connection, never from a header. An IPv6
 * address counts by its first 64 bits, because the owner of one address of such a network has all of them.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { AddressPlace } from "@pontage/core"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"

/** Key of an address's origin. */
export const fromAddress = AddressPlace.of

/** A value of a request's origin, made once for each connection, since its address never changes. */
export const perConnection = <A>(make: (place: string) => A): ((request: HttpServerRequest.HttpServerRequest) => A) => {
  const known = new WeakMap<object, A>()
  return (request) => {
    const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
    const found = known.get(socket) ?? make(fromAddress(Option.getOrElse(request.remoteAddress, () => "")))
    known.set(socket, found)
    return found
  }
}
