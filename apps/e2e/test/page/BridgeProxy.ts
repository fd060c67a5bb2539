/** A shop's own path to the bridge of a TON wallet: it passes requests, and events as they come. */
import { request } from "node:http"

import * as Effect from "effect/Effect"
import type { Middleware } from "koa"

import * as TestBridge from "../../../../adapters/wallets/test/TestBridge.ts"

/** A bridge, as long as the scope lasts. */
export const bridge = Effect.acquireRelease(Effect.promise(TestBridge.open), (opened) => Effect.sync(opened.close))

/** The middleware. */
export const make =
  (path: string, url: string): Middleware =>
  (context, next) => {
    if (!context.path.startsWith(`${path}/`)) return next()
    context.respond = false
    const { req, res } = context
    const onward = request(`${url}${context.url.slice(path.length)}`, { method: req.method ?? "GET" }, (response) => {
      res.writeHead(response.statusCode ?? 502, { "content-type": response.headers["content-type"] ?? "text/plain" })
      res.flushHeaders()
      response.pipe(res)
    })
    onward.on("error", () => res.destroy())
    res.on("close", () => onward.destroy())
    req.pipe(onward)
    return Promise.resolve()
  }
