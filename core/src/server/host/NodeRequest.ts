/**
 * A request of a Node host (Express, Fastify, Nest on either) in the gate's form. Express passes Node's own request,
 * Fastify wraps it; router and body parser add the same fields to both.
 */
import type { GateRequest } from "../http/Decision.ts"
import * as RequestHeaders from "../http/RequestHeaders.ts"
import type { BodyStream } from "../http/UnreadBody.ts"
import * as RouteParams from "./RouteParams.ts"

/** The members of Node's request that are used. */
export interface NodeMessage extends BodyStream {
  readonly rawHeaders: ReadonlyArray<string>
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** The fields of a host's request. */
export interface HostFields {
  readonly headers: GateRequest["headers"]
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  /** The raw body, where the application's parser keeps it. */
  readonly rawBody?: unknown
  /** The matched route in Express. */
  readonly route?: { readonly path?: unknown } | undefined
  /** The path of the mount point in Express. */
  readonly baseUrl?: string
  /** The matched route in Fastify. */
  readonly routeOptions?: { readonly url?: unknown } | undefined
}

/** A request for the gate. A class, because an object literal with getters costs more than the whole decision. */
export class NodeRequest implements GateRequest {
  readonly header: GateRequest["header"]
  readonly method: string
  readonly target: string
  readonly native: HostFields
  readonly stream: NodeMessage
  readonly #params: Readonly<Record<string, string>> | undefined

  /** `target` is the original one, before any mount point cut it; `params` replace the host's, if the gate found them. */
  constructor(
    message: NodeMessage,
    host: HostFields,
    { method, params, target }: Pick<GateRequest, "method" | "target"> & Partial<Pick<GateRequest, "params">>
  ) {
    this.header = RequestHeaders.fromRaw(message.rawHeaders)
    this.method = method.toUpperCase()
    this.target = target
    this.native = host
    this.stream = message
    this.#params = params
  }

  get headers(): GateRequest["headers"] {
    return this.native.headers
  }

  get params(): GateRequest["params"] {
    return this.#params ?? RouteParams.texts(this.native.params)
  }

  /** A getter in Express, a field in Fastify; the application may have switched the parser off. */
  get query(): GateRequest["query"] {
    const { query } = this.native
    return typeof query === "object" && query !== null ? Object.fromEntries(Object.entries(query)) : {}
  }

  get body(): unknown {
    return this.native.body
  }

  get rawBody(): GateRequest["rawBody"] {
    const { rawBody } = this.native
    return typeof rawBody === "string" || rawBody instanceof Uint8Array ? rawBody : undefined
  }

  get clientAddress(): string | undefined {
    return this.stream.socket.remoteAddress
  }

  get pattern(): string {
    const { baseUrl = "", route, routeOptions } = this.native
    const pattern = route?.path ?? routeOptions?.url
    return typeof pattern === "string" || pattern instanceof RegExp ? `${baseUrl}${pattern.toString()}` : ""
  }
}
