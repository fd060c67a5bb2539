/**
 * A Koa request in the gate's form. A class, because an object literal with getters costs more than the whole decision.
 */
import { type GateRequest, type ReadHeader, RequestHeaders } from "@pontage/core"
import type { Context } from "koa"

/** A request for the gate. `params` are the path parameters of the matched route. */
export class KoaRequest implements GateRequest {
  readonly header: ReadHeader
  readonly params: GateRequest["params"]
  readonly native: Context

  constructor(ctx: Context, params: GateRequest["params"]) {
    this.header = RequestHeaders.fromRaw(ctx.req.rawHeaders)
    this.params = params
    this.native = ctx
  }

  get method(): string {
    return this.native.method.toUpperCase()
  }

  get target(): string {
    return this.native.originalUrl
  }

  get query(): GateRequest["query"] {
    return this.native.query
  }

  get headers(): GateRequest["headers"] {
    return this.native.req.headers
  }

  get body(): unknown {
    return "body" in this.native.request ? this.native.request.body : undefined
  }

  get clientAddress(): string | undefined {
    return this.native.req.socket.remoteAddress
  }

  /** The raw body, as `koa-bodyparser` and its like keep it. */
  get rawBody(): GateRequest["rawBody"] {
    const raw = "rawBody" in this.native.request ? this.native.request.rawBody : undefined
    return typeof raw === "string" || raw instanceof Uint8Array ? raw : undefined
  }

  get stream(): GateRequest["stream"] {
    return this.native.req
  }

  /** The path pattern, as `@koa/router` stores it before it runs the layers. */
  get pattern(): string {
    const pattern: unknown = this.native["_matchedRoute"]
    return typeof pattern === "string" || pattern instanceof RegExp ? pattern.toString() : ""
  }
}
