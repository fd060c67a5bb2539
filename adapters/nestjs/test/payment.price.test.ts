/**
 * A price is computed from the values that the handler gets, whichever parser the host was given: over raw sockets, since
 * clients tidy targets up.
 */
import { connect } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Controller, Get, type INestApplication, Param, Query } from "@nestjs/common"
import { ExpressAdapter, type NestExpressApplication } from "@nestjs/platform-express"
import { FastifyAdapter } from "@nestjs/platform-fastify"

import { Paid } from "../src/payment.decorator.ts"
import { type Host, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

const asText = (value: unknown): string => JSON.stringify(value)

let priced: ReadonlyArray<string> = []

const { price: _, ...unpriced } = terms

const getPrice = ({ params, query }: { readonly params: unknown; readonly query: unknown }) => {
  priced = [asText(query), asText(params)]
  return "$0.01"
}

@Controller()
class ImageController {
  @Get("image/:size")
  @Paid({ ...unpriced, getPrice })
  image(@Query() query: unknown, @Param() params: unknown) {
    return [asText(query), asText(params)]
  }
}

const ask = (port: number, target: string, nonce: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1")
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)))
    socket.once("error", reject)
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("utf8")))
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Payment: ${payment(nonce)}\r\n\r\n`)
  })

const expressWith = (parser: string): Host & { readonly prepare: (app: INestApplication) => void } => ({
  name: `Express, ${parser} query parser`,
  adapter: () => new ExpressAdapter(),
  prepare: (app) => void (app as NestExpressApplication).set("query parser", parser)
})

const parsers = [
  expressWith("simple"),
  expressWith("extended"),
  { name: "Fastify", adapter: () => new FastifyAdapter(), prepare: () => {} }
]

const targets = [
  "/image/large?pages[]=1000",
  "/image/large?pages[]=1&pages[]=2&pages=3",
  "/image/large?a[b][c]=1&a[b]=2",
  "/image/large?pages=1&pages=1000",
  "/image/large?pages=1;pages=1000",
  "/image/large?pages=%31%30%30&%70ages=2",
  "/image/large?__proto__=1&constructor[prototype][x]=1",
  "/image/large?pages=1?pages=1000",
  "/image/large?&&=&pages",
  "/image/large?pages=%zz&pages=%ff",
  "http://evil.example/image/large?pages=1000",
  "/image/L%61rge?pages=1000",
  "/image/a%2Fb?pages=1000"
]

const ambiguous = ["/image/large?pages=1#", "/image/large#?pages=1", "/image/large??pages=1"]

describe.each(parsers)("a price by request on $name", (host) => {
  it.each(targets)("of %s is computed from what the handler gets", async (target) => {
    await using app = await start(host, { controllers: [ImageController], prepare: host.prepare })
    priced = []
    const answer = await ask(app.port, target, "n1")
    if (answer.startsWith("HTTP/1.1 200")) assert.include(answer, asText(priced))
    else assert.deepStrictEqual(app.facilitator.settled, [])
    if (!isOdd(target)) assert.match(answer, /^HTTP\/1.1 200/)
  })

  it.each(ambiguous)("of %s is not computed: parsers disagree about it", async (target) => {
    await using app = await start(host, { controllers: [ImageController], prepare: host.prepare })
    priced = []
    const answer = await ask(app.port, target, "n1")
    assert.notMatch(answer, /^HTTP\/1.1 2/)
    assert.deepStrictEqual(priced, [])
    assert.deepStrictEqual(app.facilitator.settled, [])
  })
})

/** Hosts may turn these away by themselves. */
const isOdd = (target: string): boolean => /^http|%zz|__proto__/.test(target)
