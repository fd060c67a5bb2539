import { createConnection } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as ApiKey from "../../src/callers/ApiKey.ts"
import * as BrowserRequest from "../../src/http/BrowserRequest.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, paymentId, start } = TestFacilitator

const place = { localAddress: "127.0.0.1" }

const none = { host: undefined, origin: undefined, "sec-fetch-site": undefined }

const refused = (headers: Record<string, string>, allowed: ReadonlyArray<string> = [], at: object = {}) =>
  BrowserRequest.objection({ ...place, ...at, headers: { ...none, ...headers } }, allowed) !== undefined

describe("a request without a key", () => {
  it("is for this machine by its own names and addresses, at any port", () => {
    for (const host of [
      "localhost:4021",
      "LOCALHOST:4021",
      "localhost",
      "localhost:8080",
      "127.0.0.1:4021",
      "127.9.9.9:4021",
      "[::1]:4021",
      "a.localhost:4021"
    ])
      assert.isFalse(refused({ host }), host)
    assert.isFalse(refused({ host: "10.0.0.7:4021" }, [], { localAddress: "10.0.0.7" }))
    assert.isFalse(refused({ host: "10.0.0.7:4021" }, [], { localAddress: "::ffff:10.0.0.7" }))
    assert.isFalse(refused({ host: "[fd00::7]:4021" }, [], { localAddress: "fd00::7" }))
  })

  it("is refused under any other name: a page may have resolved it to this machine", () => {
    for (const host of [
      "rebound.example:4021",
      "localhost.example:4021",
      "127.0.0.1.example:4021",
      "localhost:04021x",
      "localhost:4021, rebound.example:4021",
      "rebound.example:4021@localhost:4021",
      "user@localhost:4021",
      "localhost:4021/",
      "localhost :4021",
      "10.0.0.8:4021",
      "0.0.0.0:4021",
      "[::]:4021",
      "[::ffff:127.0.0.1]:4021",
      "2130706433:4021",
      "",
      ":4021"
    ])
      assert.isTrue(refused({ host }), host)
    assert.isTrue(refused({}))
    assert.isTrue(refused({ host: "10.0.0.7:4021" }, [], { localAddress: undefined }))
  })

  it("is for the names that its operator allows, with their port or any", () => {
    const allowed = ["facilitator", "Gateway:8080"]
    for (const host of ["facilitator", "facilitator:9999", "FACILITATOR:1", "gateway:8080"])
      assert.isFalse(refused({ host }, allowed), host)
    for (const host of ["facilitator.example:4021", "xfacilitator", "gateway:8081"])
      assert.isTrue(refused({ host }, allowed), host)
  })

  it("comes from no page, or from one of the service's own", () => {
    const host = "localhost:4021"
    for (const headers of [
      { host },
      { host, origin: "http://localhost:4021" },
      { host, origin: "https://localhost:4021" },
      { host, "sec-fetch-site": "same-origin" },
      { host, "sec-fetch-site": "none" }
    ])
      assert.isFalse(refused(headers), JSON.stringify(headers))
    for (const headers of [
      { host, origin: "null" },
      { host, origin: "" },
      { host, origin: "https://page.example" },
      { host, origin: "http://localhost:3000" },
      { host, origin: "http://127.0.0.1:4021" },
      { host, origin: "http://localhost:4021, https://page.example" },
      { host, origin: "http://localhost:4021.page.example" },
      { host, "sec-fetch-site": "cross-site" },
      { host, "sec-fetch-site": "same-site" },
      { host, "sec-fetch-site": "" },
      { host, origin: "http://localhost:4021", "sec-fetch-site": "cross-site" }
    ])
      assert.isTrue(refused(headers), JSON.stringify(headers))
  })
})

/** The service's response to this head, and to a body if there is one. */
const status = (port: number, head: string, sent = "") =>
  Effect.callback<number>((resume) => {
    const socket = createConnection(port, "127.0.0.1")
    let text = ""
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]))))
    socket.write(`${head}Connection: close\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`)
  })

const read = [
  "/payments",
  `/payments/${paymentId}`,
  "/supported",
  "/metrics",
  "/ready",
  "/live",
  "/docs",
  "/openapi.json",
  "/nowhere"
]
const posted = ["/verify", "/settle", "/claims", `/payments/${paymentId}/finish`, "/payments/finish", "/nowhere"]
const asked = () => Effect.die("asked")

const foreign = (port: number) => [
  `Host: rebound.example:${port}\r\n`,
  `Host: localhost:${port}\r\nHost: rebound.example:${port}\r\n`,
  `Host: localhost:${port}\r\nOrigin: https://page.example\r\n`,
  `Host: localhost:${port}\r\nOrigin: null\r\n`,
  `Host: localhost:${port}\r\nSec-Fetch-Site: cross-site\r\n`
]

describe("the service without keys", () => {
  it.live("refuses pages of other sites at every endpoint, before the facilitator is called", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ verify: asked, settle: asked, claim: asked, finish: asked, supported: asked() })
      for (const fields of foreign(port)) {
        for (const path of read) assert.strictEqual(yield* status(port, `GET ${path} HTTP/1.1\r\n${fields}`), 403, path)
        for (const path of posted) {
          const sent = JSON.stringify({ ...body, claim, claimId: claim.id, outcome: "served" })
          const head = `POST ${path} HTTP/1.1\r\n${fields}Content-Type: application/json\r\n`
          assert.strictEqual(yield* status(port, head, sent), 403, path)
        }
      }
      const absolute = `GET http://localhost:${port}/payments HTTP/1.1\r\nHost: rebound.example\r\n`
      assert.strictEqual(yield* status(port, absolute), 403)
      assert.strictEqual(yield* status(port, "GET /payments HTTP/1.0\r\n"), 403)
    })
  )

  it.live("serves its own callers, and its own page", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({})
      assert.strictEqual((yield* get("/payments")).status, 200)
      const page = `GET /payments HTTP/1.1\r\nHost: localhost:${port}\r\nOrigin: http://localhost:${port}\r\n`
      assert.strictEqual(yield* status(port, `${page}Sec-Fetch-Site: same-origin\r\n`), 200)
      const named = yield* start({}, { allowedHosts: ["facilitator"] })
      assert.strictEqual(yield* status(named.port, "GET /payments HTTP/1.1\r\nHost: facilitator:8080\r\n"), 200)
    })
  )
})

describe("the service with keys", () => {
  it.live("takes any name, since only holders of a key are served", () =>
    Effect.gen(function* () {
      const callers = [{ name: "shop", keys: [ApiKey.digestOf("key-of-shop")] }]
      const { port } = yield* start({}, { callers })
      const key = "Authorization: Bearer key-of-shop\r\n"
      const head = "GET /payments HTTP/1.1\r\nHost: facilitator.example\r\n"
      assert.strictEqual(yield* status(port, head + key), 200)
      assert.strictEqual(yield* status(port, head), 401)
      assert.strictEqual(yield* status(port, head + key + key), 401)
    })
  )
})
