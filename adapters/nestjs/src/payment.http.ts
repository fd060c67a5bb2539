/**
 * Requests and responses of both hosts: Express passes Node's own, Fastify wraps them. All code that depends on the
 * difference is here.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

import type { AbstractHttpAdapter } from "@nestjs/core"
import {
  type GateRequest,
  type HeaderFields,
  RequestHeaders,
  ResponseHeaders,
  ResponseKeeping,
  ResponseSeal
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
export const gateRequest = (adapter: AbstractHttpAdapter, request: HostRequest): GateRequest => ({
  method: String(adapter.getRequestMethod(request)).toUpperCase(),
  target: adapter.getRequestUrl(request),
  header: RequestHeaders.fromRaw(nodeRequest(request).rawHeaders),
  get headers() {
    return request.headers
  },
  get params() {
    return textParams(request.params ?? {})
  },
  get query() {
    return recordOf(request.query)
  },
  get body() {
    return request.body
  },
  get rawBody() {
    return request.rawBody
  },
  get stream() {
    return nodeRequest(request)
  },
  get clientAddress() {
    return nodeRequest(request).socket.remoteAddress
  },
  get pattern() {
    const pattern = request.route?.path ?? request.routeOptions?.url
    return typeof pattern === "string" || pattern instanceof RegExp ? pattern.toString() : ""
  },
  native: request
})

/** The query: a getter in Express, a field in Fastify; `query parser` may be switched off. */
const recordOf = (query: unknown): Readonly<Record<string, unknown>> =>
  typeof query === "object" && query !== null ? Object.fromEntries(Object.entries(query)) : {}

/**
 * Path parameters as texts. Express gives the segments of a wildcard as a list; two different lists never give the same
 * text.
 */
const textParams = (params: NonNullable<HostRequest["params"]>): Record<string, string> => {
  const texts: Array<[string, string]> = []
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) texts.push([name, typeof value === "string" ? value : joined(value)])
  }
  return Object.fromEntries(texts)
}

const joined = (segments: ReadonlyArray<string>): string =>
  segments.map((segment) => segment.replaceAll("/", "%2F")).join("/")

/**
 * Lays the gate's headers over the current ones, and again when they are written: handlers that send by themselves, and
 * filters of the application, run later. Does nothing once they are sent.
 */
export const layOver = (adapter: AbstractHttpAdapter, response: HostResponse, fields: HeaderFields): void => {
  if (adapter.isHeadersSent(response)) return
  const current = (name: string) => headerText(adapter.getHeader(response, name))
  for (const [name, value] of Object.entries(ResponseHeaders.over(fields, current))) {
    adapter.setHeader(response, name, value)
  }
  ResponseSeal.seal(nodeResponse(response), fields)
}

const headerText = (value: unknown): string | undefined => {
  if (Array.isArray(value)) return value.join(", ")
  return typeof value === "string" || typeof value === "number" ? `${value}` : undefined
}

/** The response's current headers, for a later reset. */
export const headersNow = (response: HostResponse): HeaderSnapshot => ({ ...response.getHeaders() })

/** Headers of a response. */
export type HeaderSnapshot = Readonly<ReturnType<ServerResponse["getHeaders"]>>

/** Resets the headers of a response. */
export const restoreHeaders = (response: HostResponse, before: HeaderSnapshot): void => {
  const node = nodeResponse(response)
  for (const [name, value] of Object.entries(response.getHeaders())) {
    const earlier = before[name]
    if (earlier === value) continue
    response.removeHeader(name)
    if (earlier === undefined) node.removeHeader(name)
    else node.setHeader(name, earlier)
  }
}

/** Calls back once with how a response ended: delivered, or cut off before that. */
export const whenOver = (
  request: HostRequest,
  response: HostResponse,
  keeping: ResponseKeeping.Keeping,
  tell: (delivered: boolean) => void
): void => {
  ResponseKeeping.watch(nodeRequest(request), nodeResponse(response), keeping, tell)
}
