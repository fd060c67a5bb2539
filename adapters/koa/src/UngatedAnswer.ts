/**
 * The last look at an answer that went past the gate: where it is one that is sold, it does not leave. Middleware that
 * rewrites a method or a path behind the gate's back, a copy of a router that was made before the gate, or a cache in front
 * of the handler cannot be seen at start.
 */
import { Misconfigured, RouteKey } from "@pontage/core"
import type { Context, Next } from "koa"

import * as Layers from "./RouterLayer.ts"

/** The requests that one request was: as it came to the gate, and as what ran after the gate has left it. */
export interface Passage {
  readonly methods: ReadonlySet<string>
  readonly paths: ReadonlySet<string>
  /** The layers of routers that took it. */
  readonly layers: ReadonlyArray<Layers.RouterLayer>
}

/**
 * Runs what comes next, for a request that the gate has let pass. `soldAs` names the key of a request that is sold;
 * `isJudged` tells whether a gate further in has decided about it. Fails with what Koa answers 500, where what comes next
 * answers below 400 to such a request.
 */
export const watched = async (
  ctx: Context,
  next: Next,
  {
    isJudged,
    soldAs
  }: { readonly isJudged: (ctx: Context) => boolean; readonly soldAs: (passage: Passage) => string | undefined }
): Promise<void> => {
  const { method, path } = ctx
  try {
    await next()
  } catch (error) {
    refuse(statusOf(error))
    throw error
  }
  refuse(ctx.headerSent || ctx.respond === false ? ctx.res.statusCode : ctx.status)

  function refuse(status: number): void {
    if (status >= 400 || isJudged(ctx)) return
    const key = soldAs(passageOf(ctx, method, path))
    if (key === undefined) return
    ctx.body = null
    throw new Misconfigured({ message: messageFor(ctx, key) })
  }
}

const messageFor = ({ headerSent, method, originalUrl, respond }: Context, key: string): string => {
  const sent = headerSent || respond === false ? " and sent by its handler itself, so it could not be held back" : ""
  return `${method} ${originalUrl} is sold as ${JSON.stringify(key)}, but was answered without a payment${sent}: what rewrites methods or paths, or answers for a handler, has to stand before the payment middleware, and routers have to be nested after it is made`
}

const passageOf = (ctx: Context, method: string, path: string): Passage => ({
  methods: new Set([method, ctx.method].map(Layers.soldMethod)),
  paths: new Set([path, ctx.path, textOf(ctx["newRouterPath"]) ?? path]),
  layers: layersOf(ctx["matched"])
})

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** `@koa/router` leaves the layers it has chosen among, those of other methods too. */
const layersOf = (matched: unknown): ReadonlyArray<Layers.RouterLayer> => (Array.isArray(matched) ? matched : [])

/** As Koa answers an error. */
const statusOf = (error: unknown): number => {
  if (typeof error !== "object" || error === null) return 500
  const status: unknown = Reflect.get(error, "status") ?? Reflect.get(error, "statusCode")
  return typeof status === "number" ? status : 500
}

/** The key of a passage by its paths, as routers compare them: whatever the case, one slash at the end or none. */
export const keyOf = (keys: ReadonlyArray<RouteKey.RouteKey>, { methods, paths }: Passage): string | undefined => {
  const patterns = [...paths].map(RouteKey.literals)
  const meant = keys.find(
    (key) => methods.has(key.method) && patterns.some((pattern) => RouteKey.covers(key.segments, pattern))
  )
  return meant?.text
}
