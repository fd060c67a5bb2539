/** A Koa request in the gate's form. */
import { type GateRequest, NodeRequest } from "@pontage/core"
import type { Context } from "koa"

/** A request for the gate. `params` are the path parameters of the matched route; `@koa/router` stores its pattern. */
export const of = (ctx: Context, params: GateRequest["params"]): GateRequest =>
  new NodeRequest.NodeRequest(ctx.req, ctx.request, {
    method: ctx.method,
    target: ctx.originalUrl,
    params,
    pattern: ctx["_matchedRoute"],
    native: ctx
  })
