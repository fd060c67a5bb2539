/**
 * Gate and router must never disagree: over raw sockets, a shop and its twin that sells nothing get the same requests,
 * plain and crooked. Where the twin runs what the shop sells, the shop asks for payment; everything else is the same.
 */
import { connect } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { All, Controller, Get, Header, Post } from "@nestjs/common"
import type { INestApplication } from "@nestjs/common"
import type { RouteConfig } from "@pontage/core"
import * as fc from "fast-check"

import { Paid } from "../src/payment.decorator.ts"
import { build, hosts, listen, type RunningApp, start } from "./TestApp.ts"
import { terms } from "./TestShop.ts"

const free: MethodDecorator = () => {}

/** The same controllers with and without a price. */
const controllersOf = (sells: boolean) => {
  const paid = sells ? Paid(terms) : free

  @Controller("Shop")
  class ShopController {
    @Get("report")
    @Header("X-Handler", "paid")
    @paid
    report() {
      return "report"
    }

    @Get("mapped")
    @Header("X-Handler", "paid")
    mapped() {
      return "mapped"
    }

    @Get("items/:item")
    @Header("X-Handler", "paid")
    @paid
    item() {
      return "item"
    }

    @All("any")
    @Header("X-Handler", "paid")
    @paid
    any() {
      return "any"
    }

    @Post("report")
    @Header("X-Handler", "free")
    write() {
      return "written"
    }

    @Get("open")
    @Header("X-Handler", "free")
    open() {
      return "open"
    }
  }

  @Controller("files")
  class FilesController {
    @Get("*")
    @Header("X-Handler", "paid")
    @paid
    file() {
      return "file"
    }
  }

  return [ShopController, FilesController]
}

const routes: Record<string, RouteConfig> = { "GET /api/Shop/mapped": terms }
const prepare = (app: INestApplication) => app.setGlobalPrefix("api")

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("api", "Shop", "report", "mapped", "items", "any", "open", "files", "a") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("API", "shop", "Report", "MAPPED", "%61pi", "%53hop", "repor%74", "m%61pped", "ite%6ds")
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      ".",
      "..",
      "%2e",
      "%2E%2e",
      "report;a=1",
      "report%20",
      "%2Freport",
      "a%2fb",
      "%",
      "%00"
    )
  }
)

const path = fc.oneof(
  fc.constantFrom("/api/Shop/report", "/api/Shop/mapped", "/api/Shop/items/x", "/api/Shop/any", "/api/files/a/b"),
  fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => `/${segments.join("/")}`),
  fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => `/api/Shop/${segments.join("/")}`),
  fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => `/api/./Shop/../Shop//${segments.join("\\")}`)
)

const target = fc
  .tuple(
    fc.constantFrom("", "", "", "http://evil.example", "//evil"),
    path,
    fc.constantFrom("", "", "/", "//", "?", "?a=1")
  )
  .map((parts) => parts.join(""))

const method = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("GET", "HEAD", "OPTIONS", "POST") },
  { weight: 1, arbitrary: fc.constantFrom("PUT", "DELETE", "PATCH", "SEARCH", "QUERY", "PROPFIND", "get") }
)

interface Seen {
  readonly status: string
  readonly handler: string | undefined
}

/** The response to a request that is sent as it is. */
const ask = (port: number, verb: string, what: string): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1")
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)))
    socket.once("error", reject)
    socket.once("close", () => {
      const text = Buffer.concat(chunks).toString("latin1")
      resolve({ status: text.slice(9, 12), handler: /\r\nx-handler: (\w+)\r\n/i.exec(text)?.[1] })
    })
    socket.write(`${verb} ${what} HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
  })

const corpus: ReadonlyArray<readonly [string, string]> = [
  ["GET", "/api/Shop/report"],
  ["HEAD", "/api/Shop/report"],
  ["GET", "/api/Shop/report/"],
  ["GET", "/api/Shop/repor%74"],
  ["GET", "/API/shop/REPORT"],
  ["GET", "//api//Shop//report"],
  ["GET", "/api/Shop/items/a%2Fb"],
  ["GET", "http://evil.example/api/Shop/report"],
  ["GET", "/api/Shop/mapped"],
  ["HEAD", "/api/Shop/mapped"],
  ["GET", "/api/files/a/../b"],
  ["OPTIONS", "/api/Shop/any"],
  ["PATCH", "/api/Shop/any"]
]

describe.each(hosts)("over raw sockets on $name", (host) => {
  it("nothing that is sold is served unpaid, and nothing that is free is refused", async () => {
    await using shop: RunningApp = await start(host, { controllers: controllersOf(true), routes, prepare })
    const twin = await build(host, { controllers: controllersOf(false), prepare })
    const twinPort = await listen(twin)
    const seen = { sold: 0, free: 0 }
    const compare = async (verb: string, what: string) => {
      const [expected, actual] = await Promise.all([ask(twinPort, verb, what), ask(shop.port, verb, what)])
      const request = `${verb} ${what}`
      assert.notStrictEqual(actual.handler, "paid", request)
      if (expected.handler === "paid") {
        seen.sold++
        assert.strictEqual(actual.status, verb === "OPTIONS" ? "204" : "402", request)
      } else {
        seen.free++
        assert.deepStrictEqual(actual, expected, request)
      }
    }
    await Promise.all(corpus.map(([verb, what]) => compare(verb, what)))
    const rounds = fc.asyncProperty(
      fc.array(fc.tuple(method, target), { minLength: 20, maxLength: 20 }),
      async (pairs) => {
        await Promise.all(pairs.map(([verb, what]) => compare(verb, what)))
      }
    )
    await fc.assert(rounds, { numRuns: 250 })
    await twin.close()
    assert.isAbove(seen.sold, 200)
    assert.isAbove(seen.free, 200)
    assert.deepStrictEqual(shop.facilitator.settled, [])
  })
})
