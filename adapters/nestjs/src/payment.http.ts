/**
 * Requests and responses of both hosts: Express passes Node's own, Fastify wraps them. All code that depends on the
 * difference is here.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

import type { AbstractHttpAdapter } from "@nestjs/core"
import {
  type GateRequest,
  type Granted,
  GrantedResponse,
  type HeaderFields,
  HeldResponse,
  type KeptResponse,
  NodeRequest,
  ResponseHeaders,
  ResponseSeal,
  ResponseWatch,
  SignedResponse
} from "@pontage/core"

/** A request as Fastify wraps it. */
export interface WrappedRequest extends Pick<IncomingMessage, "headers"> {
  readonly raw: IncomingMessage
}

/** A request of either host, with the fields that router and body parser have added. */
export type HostRequest = (IncomingMessage | WrappedRequest) & {
  readonly params?: Readonly<Record<string, string | ReadonlyArray<string> | undefined>> | null
  readonly query?: unknown
  readonly body?: unknown
  /** The raw body, with the application's option `rawBody`. */
  readonly rawBody?: Uint8Array
  /** The matched route in Express. */
  readonly route?: { readonly path?: unknown } | undefined
  /** The matched route in Fastify. */
  readonly routeOptions?: { readonly url?: unknown } | undefined
}

/** A response as Fastify wraps it. */
export interface WrappedResponse extends Pick<ServerResponse, "getHeaders" | "statusCode"> {
  readonly raw: ServerResponse
  readonly removeHeader: (name: string) => unknown
}

/** A response of either host. */
export type HostResponse = ServerResponse | WrappedResponse

/** Node's request. */
export const nodeRequest = (request: HostRequest): IncomingMessage => ("raw" in request ? request.raw : request)

/** Node's response. */
export const nodeResponse = (response: HostResponse): ServerResponse => ("raw" in response ? response.raw : response)

/** A request in the gate's form. */
export const gateRequest = (adapter: AbstractHttpAdapter, request: HostRequest): GateRequest =>
  new NodeRequest.NodeRequest(nodeRequest(request), request, {
    method: String(adapter.getRequestMethod(request)),
    target: adapter.getRequestUrl(request)
  })

/**
 * Lays the gate's headers over the current ones, and again when they are written: handlers that send by themselves, and
 * filters of the application, run later. Does nothing once they are sent.
 */
export const layOver = (adapter: AbstractHttpAdapter, response: HostResponse, fields: HeaderFields): void => {
  if (adapter.isHeadersSent(response)) return
  lay(adapter, response, fields)
  ResponseSeal.seal(nodeResponse(response), fields)
}

/** The same with the headers of a paid response: those of its status when they are written. */
export const layPaid = (
  adapter: AbstractHttpAdapter,
  response: HostResponse,
  paid: Pick<Granted, "headers" | "headersFor">
): void => {
  if (adapter.isHeadersSent(response)) return
  lay(adapter, response, paid.headers)
  ResponseSeal.sealPaid(nodeResponse(response), paid)
}

const lay = (adapter: AbstractHttpAdapter, response: HostResponse, fields: HeaderFields): void => {
  const current = (name: string) => ResponseSeal.textOf(adapter.getHeader(response, name))
  for (const [name, value] of Object.entries(ResponseHeaders.over(fields, current))) {
    adapter.setHeader(response, name, value)
  }
}

/** Sends the bytes of a kept response past the host's serialisers, which would encode them anew. */
export const repeat = (response: HostResponse, kept: KeptResponse.KeptResponse): void =>
  HeldResponse.repeat(nodeResponse(response), kept, response.getHeaders())

/** The response's current headers, for a later reset. */
export const headersNow = (response: HostResponse): HeaderSnapshot => ({ ...response.getHeaders() })

/** Headers of a response. */
export type HeaderSnapshot = Readonly<ReturnType<ServerResponse["getHeaders"]>>

/** Holds a granted response back until its receipt is signed, if the receipt covers the response. */
export const signBefore = (response: HostResponse, granted: Pick<Granted, "receipt">, run: SignedResponse.Run): void =>
  SignedResponse.hold(nodeResponse(response), granted, run)

/** Whether the client has disconnected, or the application has answered by itself: the handler is not to run. */
export const isTaken = (request: HostRequest, response: HostResponse): boolean =>
  ResponseWatch.isTaken(nodeRequest(request), nodeResponse(response))

/** Calls back once with how a response ended: delivered, or cut off before that. */
export const whenOver = (
  request: HostRequest,
  response: HostResponse,
  keeping: GrantedResponse.Keeping,
  tell: GrantedResponse.Notify
): void => {
  GrantedResponse.watch(nodeRequest(request), nodeResponse(response), keeping, tell)
}
