/**
 * Checks each response that bypassed the gate: a response for a sold route is not sent. Middleware that rewrites a
 * method or a path behind the gate, a copy of a router that was made before the gate, or a cache in front of the
 * gate cannot be detected at start.
 */
import { Misconfigured, RequestMarks, RouteKey } from "@pontage/core"
import type { Context, Next } from "koa"

import * as PaidResponse from "./PaidResponse.ts"
import type * as Layers from "./RouterLayer.ts"

/** The forms of one request: as it came to the gate, and as the following middleware left it. */
export interface Passage {
  readonly methods: ReadonlySet<string>
  readonly paths: ReadonlySet<string>
  /** The layers of the routers that handled it. */
  readonly layers: ReadonlyArray<Layers.RouterLayer>
}

/**
 * Runs the following middleware, for a request that the gate has passed. `soldAs` returns the key of a sold request.
 * Fails, so that Koa responds with 500, if the following middleware
 * answers below 400 to such a request, and no inner gate has decided it.
 */
export const watched = async (
  ctx: Context,
  next: Next,
  soldAs: (passage: Passage) => string | undefined
): Promise<void> => {
  const { method, path } = ctx
  try {
    await next()
  } catch (error) {
    refuse(PaidResponse.statusOf(error))
    throw error
  }
  refuse(ctx.headerSent || ctx.respond === false ? ctx.res.statusCode : ctx.status)

  function refuse(status: number): void {
    if (status >= 400 || RequestMarks.isJudged(ctx.req)) return
    const key = soldAs(passageOf(ctx, method, path))
    if (key === undefined) return
    ctx.body = null
    throw new Misconfigured({ message: messageFor(ctx, key) })
  }
}

const messageFor = ({ headerSent, method, originalUrl, respond }: Context, key: string): string => {
  const sent = headerSent || respond === false ? " and sent by its handler itself, so it could not be held back" : ""
  return `${method} ${originalUrl} is sold as ${JSON.stringify(key)}, but was served without a payment${sent}: what rewrites methods or paths has to stand before the payment middleware, routers have to be nested after it is made, and what answers for a handler, as a cache does, has to stand behind the gate: after the middleware without \`router\`, among the steps of the route with it`
}

const passageOf = (ctx: Context, method: string, path: string): Passage => ({
  methods: new Set([method, ctx.method].map(RouteKey.soldMethod)),
  paths: new Set([path, ctx.path, textOf(ctx["newRouterPath"]) ?? path]),
  layers: layersOf(ctx["matched"])
})

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** The layers that `@koa/router` chose among, those of other methods too. */
const layersOf = (matched: unknown): ReadonlyArray<Layers.RouterLayer> => (Array.isArray(matched) ? matched : [])

/** The key of a request by its paths, compared as routers do: ignoring case and one slash at the end. */
export const keyOf = (keys: ReadonlyArray<RouteKey.RouteKey>, { methods, paths }: Passage): string | undefined => {
  const patterns = [...paths].map(RouteKey.literals)
  const meant = keys.find(
    (key) => methods.has(key.method) && patterns.some((pattern) => RouteKey.covers(key.segments, pattern))
  )
  return meant?.text
}
