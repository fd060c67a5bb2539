/**
 * A request of a Node host (Express, Fastify, Nest on either, Koa) in the gate's form. Express passes Node's own request,
 * the others wrap it; router and body parser add the same fields to both.
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

/** The facts about a request that its host tells beside the fields. */
export interface NodeFacts extends Pick<GateRequest, "method" | "target"> {
  /** The path parameters, where the host's own are not meant. */
  readonly params?: GateRequest["params"]
  /** The matched route, where the fields do not have it. */
  readonly pattern?: unknown
  /** The request for `getPrice` and `validate`, where it is not the one with the fields. */
  readonly native?: unknown
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
  readonly stream: NodeMessage
  readonly #host: HostFields
  readonly #facts: NodeFacts

  /** The target is the original one, before any mount point cut it. */
  constructor(message: NodeMessage, host: HostFields, facts: NodeFacts) {
    this.header = RequestHeaders.fromRaw(message.rawHeaders)
    this.method = facts.method.toUpperCase()
    this.target = facts.target
    this.stream = message
    this.#host = host
    this.#facts = facts
  }

  get native(): unknown {
    return this.#facts.native ?? this.#host
  }

  get headers(): GateRequest["headers"] {
    return this.#host.headers
  }

  get params(): GateRequest["params"] {
    return this.#facts.params ?? RouteParams.texts(this.#host.params)
  }

  /** A getter in Express, a field in Fastify; the application may have switched the parser off. */
  get query(): GateRequest["query"] {
    const { query } = this.#host
    return typeof query === "object" && query !== null ? Object.fromEntries(Object.entries(query)) : {}
  }

  get body(): unknown {
    return this.#host.body
  }

  get rawBody(): GateRequest["rawBody"] {
    const { rawBody } = this.#host
    return typeof rawBody === "string" || rawBody instanceof Uint8Array ? rawBody : undefined
  }

  get clientAddress(): string | undefined {
    return this.stream.socket.remoteAddress
  }

  get pattern(): string {
    const { baseUrl = "", route, routeOptions } = this.#host
    const pattern = this.#facts.pattern ?? route?.path ?? routeOptions?.url
    return typeof pattern === "string" || pattern instanceof RegExp ? `${baseUrl}${pattern.toString()}` : ""
  }
}
