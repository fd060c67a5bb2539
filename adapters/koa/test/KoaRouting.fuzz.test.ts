/**
 * The gate and the router never disagree: whatever a request line holds, a handler that is sold does not run without a
 * payment. Three applications get the same bytes: one without a gate (what the routers do by themselves), one with the
 * gate before the routers, one with the gate inside them. The facilitator refuses everything.
 */
import { connect } from "node:net"

import { Router } from "@koa/router"
import { refuse } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import Koa from "koa"
import mount from "koa-mount"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import { paymentMiddleware, type RouteConfig } from "../src/index.ts"
import { type KoaServer, serve } from "./KoaServer.ts"
import * as KoaShop from "./KoaShop.ts"

const sold: Koa.Middleware = (ctx) => {
  ctx.set("X-Handler", "sold")
  ctx.body = "sold"
}

const free: Koa.Middleware = (ctx) => {
  ctx.set("X-Handler", "free")
  ctx.body = "free"
}

const makeApi = () => {
  const users = new Router().get("/me", sold).get("/:id", sold).get("/:id/free", free)
  const api = new Router({ prefix: "/api" })
  api.register("/any", ["GET", "POST", "OPTIONS"], sold)
  api.register("/any", ["PUT", "DELETE", "PROPFIND"], free)
  return api
    .get("/report", sold)
    .post("/render", sold)
    .get("/free", free)
    .get("/:day/page", sold)
    .get("/files{/*rest}", sold)
    .use("/users", users.routes())
}

const makeInner = () => new Router().get("/report", sold).get("/free", free)

const keysOfApi = [
  "GET /api/report",
  "GET /api/any",
  "POST /api/any",
  "POST /api/render",
  "GET /api/:day/page",
  "GET /api/files/*",
  "GET /api/users/me",
  "GET /api/users/:id"
]

const routes = (keys: ReadonlyArray<string>): Record<string, RouteConfig> =>
  Object.fromEntries(keys.map((key) => [key, KoaShop.terms]))

const refusing = () => FakeFacilitator.make({ settle: () => Effect.fail(refuse("INVALID_SIGNATURE", "no", "no")) })

const closing: Array<() => Promise<void>> = []

const makeGate = async (options: { readonly keys: ReadonlyArray<string>; readonly router?: Router }) => {
  const { keys, router } = options
  const middleware = paymentMiddleware({
    ...KoaShop.options(refusing()),
    routes: routes(keys),
    ...(router === undefined ? {} : { router })
  })
  await middleware.ready()
  closing.push(middleware.close)
  return middleware
}

const pass: Koa.Middleware = (_ctx, next) => next()

interface Parts {
  readonly outer?: Koa.Middleware
  readonly gate?: Koa.Middleware
  readonly api?: Router
  readonly inner?: Router
  readonly innerGate?: Koa.Middleware
}

const assemble = ({ api = makeApi(), gate = pass, inner = makeInner(), innerGate = pass, outer = pass }: Parts) => {
  const mounted = new Koa()
  mounted.use(innerGate).use(inner.routes())
  return serve(new Koa().use(outer).use(gate).use(api.routes()).use(api.allowedMethods()).use(mount("/shop", mounted)))
}

const gatedBefore = async () => assemble({ gate: await makeGate({ keys: [...keysOfApi, "GET /shop/report"] }) })

const gatedInside = async () => {
  const api = makeApi()
  const inner = makeInner()
  const innerGate = await makeGate({ keys: ["GET /report"], router: inner })
  return assemble({ api, inner, innerGate, gate: await makeGate({ keys: keysOfApi, router: api }) })
}

/** Routers take methods in any case. */
const lowering: Koa.Middleware = (ctx, next) => {
  ctx.method = ctx.method.toLowerCase()
  return next()
}

const gatedBeforeLowered = async () =>
  assemble({ outer: lowering, gate: await makeGate({ keys: [...keysOfApi, "GET /shop/report"] }) })

const gatedInsideLowered = async () => {
  const api = makeApi()
  const inner = makeInner()
  const innerGate = await makeGate({ keys: ["GET /report"], router: inner })
  return assemble({ outer: lowering, api, inner, innerGate, gate: await makeGate({ keys: keysOfApi, router: api }) })
}

/** The gate knows the router that was nested, and the application runs the copy of another one. */
const gatedCopied = async () => {
  const api = makeApi()
  const inner = makeInner()
  const copy = new Router().use(api.routes())
  const innerGate = await makeGate({ keys: ["GET /report"], router: inner })
  const gate = await makeGate({ keys: keysOfApi, router: api })
  const composed = new Koa()
  composed.use(copy.routes()).use(copy.allowedMethods())
  return assemble({ outer: gate, gate: mount("/", composed), api: new Router(), inner, innerGate })
}

/** Below a mount point the gate knows the keys by their whole path. */
const gatedBelow = async () =>
  assemble({
    gate: await makeGate({ keys: keysOfApi }),
    innerGate: await makeGate({ keys: ["GET /shop/report"] })
  })

interface Seen {
  readonly status: number
  readonly handler: string
}

const send = (server: KoaServer, method: string, target: string, paying: boolean): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const socket = connect(server.port, "127.0.0.1")
    const payment = paying ? `X-Payment: ${KoaShop.paid["x-payment"]}\r\n` : ""
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", reject)
    socket.on("close", () => {
      const answer = Buffer.concat(chunks).toString("latin1")
      resolve({
        status: Number(/^HTTP\/1.1 (\d{3})/.exec(answer)?.[1] ?? 0),
        handler: /^X-Handler: (\w+)\r$/im.exec(answer)?.[1] ?? "none"
      })
    })
    socket.write(
      Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n${payment}\r\n`, "latin1")
    )
  })

const method = fc.oneof(
  { weight: 5, arbitrary: fc.constant("GET") },
  { weight: 4, arbitrary: fc.constantFrom("HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PROPFIND", "TRACE", "get") }
)

const word = fc.constantFrom(
  "api",
  "shop",
  "report",
  "any",
  "render",
  "free",
  "users",
  "me",
  "files",
  "page",
  "monday",
  "1"
)

const spelled = fc.tuple(word, fc.integer({ min: 0, max: 6 }), fc.nat(8)).map(([text, how, at]) => {
  const index = at % text.length
  const hex = text.charCodeAt(index).toString(16)
  const around = (middle: string) => text.slice(0, index) + middle + text.slice(index + 1)
  return (
    [text, text, text.toUpperCase(), around(`%${hex}`), around(`%25${hex}`), `${text};v=1`, `${text}%00`][how] ?? text
  )
})

const odd = fc.constantFrom(
  "",
  ".",
  "..",
  "%2e%2e",
  "%2e",
  "..;",
  "%",
  "%zz",
  "%ff",
  "a%0Ab",
  "\xe9",
  "\xa0",
  "%c3%a9",
  "__proto__",
  "*",
  ":id"
)

const separator = fc.oneof(
  { weight: 8, arbitrary: fc.constant("/") },
  { weight: 2, arbitrary: fc.constantFrom("//", "\\", "%2f", "%2F", "%5c", "/./", "/x/../", ";/") }
)

const segment = fc.oneof({ weight: 6, arbitrary: spelled }, { weight: 1, arbitrary: odd })

/** Half of the paths start where something is sold, so that the routers reach their handlers often enough. */
const start = fc.constantFrom(
  "",
  "",
  "",
  "/api",
  "/api/report",
  "/api/any",
  "/api/users",
  "/api/users/me",
  "/shop",
  "/shop/report",
  "/API/Report",
  "/api/files"
)

const path = fc
  .tuple(start, fc.array(fc.tuple(separator, segment), { maxLength: 4 }))
  .map(([first, rest]) => first + rest.map(([slash, name]) => slash + name).join(""))

const target = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.constant("") },
      { weight: 1, arbitrary: fc.constantFrom("http://evil", "//evil", "HTTP://evil:80", "x") }
    ),
    path,
    fc.constantFrom("", "", "", "/", "//", "?", "?x=/api/free", "#x", "%3f", "%23", ";", "\xa0", "/.", "/..")
  )
  .map(([before, middle, after]) => `${before}${middle}${after}` || "/")

const runs = 2500

/** Asked in every run, whatever else the generator comes upon: each kind of handler is reached. */
const sure: Array<[string, string, boolean]> = [
  ["GET", "/api/report", false],
  ["OPTIONS", "/api/any", false],
  ["OPTIONS", "/api/any", true],
  ["GET", "/api/free", false]
]

describe("a handler that is sold", () => {
  const servers: Array<KoaServer> = []
  /** Middleware or nesting works against the gate: nothing is promised but that nothing sold leaves. */
  const crooked: Array<KoaServer> = []

  beforeAll(async () => {
    servers.push(await assemble({}), await gatedBefore(), await gatedInside(), await gatedBelow())
    crooked.push(await gatedBeforeLowered(), await gatedInsideLowered(), await gatedCopied())
  })

  afterAll(async () => {
    await Promise.all([...servers, ...crooked].map((server) => server.close()))
    await Promise.all(closing.splice(0).map((close) => close()))
  })

  it("does not run without a payment, and the gate inside the router changes nothing else", async () => {
    const reached = { sold: 0, free: 0, preflight: 0 }
    await fc.assert(
      fc.asyncProperty(method, target, fc.boolean(), async (...request) => {
        const [alone, before, inside, below] = await Promise.all(servers.map((server) => send(server, ...request)))
        assert(alone !== undefined && before !== undefined && inside !== undefined && below !== undefined)
        for (const gated of [before, inside, below]) assert.notStrictEqual(gated.handler, "sold", "a sold handler ran")
        for (const gated of await Promise.all(crooked.map((server) => send(server, ...request)))) {
          assert.notStrictEqual(gated.handler, "sold", "a sold handler's response left")
        }
        if (alone.handler === "sold") {
          reached.sold++
          const isPreflight = request[0] === "OPTIONS"
          if (isPreflight) reached.preflight++
          assert.strictEqual(inside.status, isPreflight ? 204 : request[1].includes("#") ? 400 : 402)
          assert.include(isPreflight ? [204] : [402, 400], before.status)
          assert.include(isPreflight ? [204] : [402, 400], below.status)
        } else {
          assert.deepStrictEqual(inside, alone)
        }
        if (alone.handler === "free") reached.free++
      }),
      { numRuns: runs, examples: sure }
    )
    assert.isAbove(reached.sold, runs / 20, "the generator reaches too few sold handlers to prove anything")
    assert.isAbove(reached.free, 0)
    assert.isAbove(reached.preflight, 0)
  })
})
