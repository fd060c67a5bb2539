/** Responses of an application that compresses them, before the gate or behind it: each can be read, and so can its repeat. */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer, request, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { gunzipSync } from "node:zlib"

import compression from "compression"
import express, { type RequestHandler } from "express"
import { afterEach, assert, describe, it } from "vitest"

import { maximumHeldBytes } from "../../../core/src/server/host/HeldBody.ts"
import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentMiddleware } from "../src/index.ts"

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

/** A signer whose signatures have the form of one; this test verifies none. */
const receipts = {
  address: "0x1111111111111111111111111111111111111111",
  signTypedData: () => Promise.resolve(`0x${"ab".repeat(65)}` as const)
} as const

/** Adds a header while the head is written, as sessions in a cookie do. */
const cookie: RequestHandler = (_, response, next) => {
  const write = response.writeHead.bind(response)
  Reflect.set(response, "writeHead", (...given: Parameters<typeof write>) => {
    if (!response.headersSent) response.setHeader("Set-Cookie", "session=1")
    return write(...given)
  })
  next()
}

const open = async (handler: RequestHandler, config: object, isCompressedInside: boolean) => {
  const { ledger, options, terms } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const gate = paymentMiddleware({
    ...options,
    receipts,
    routes: { "GET /report": { ...terms, repeat: "same", ...config } }
  })
  await gate.ready()
  const compress = compression({ threshold: 0 })
  const app = express().use(...(isCompressedInside ? [gate, cookie, compress] : [compress, gate, cookie]))
  const server = createServer(app.get("/report", handler)).listen(0, "127.0.0.1")
  await once(server, "listening")
  closing.push(() => {
    server.closeAllConnections()
    return once(server.close(), "close")
  }, gate.close)
  const { port } = server.address() as AddressInfo
  const get = async (payment: Readonly<Record<string, string>> = {}) => {
    const headers = { "Accept-Encoding": "gzip", ...payment }
    const asking = request({ host: "127.0.0.1", port, path: "/report", headers, agent: false }).end()
    const [response] = (await once(asking, "response")) as [IncomingMessage]
    const chunks: Array<Buffer> = []
    for await (const chunk of response) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const encoding = response.headers["content-encoding"]
    const cookies = response.headers["set-cookie"]
    return {
      status: response.statusCode,
      encoding,
      cookies,
      text: (encoding === "gzip" ? gunzipSync(body) : body).toString()
    }
  }
  /** The response once the run that goes meanwhile has ended. */
  const getOnceThere = async (headers: Readonly<Record<string, string>>): ReturnType<typeof get> => {
    const got = await get(headers)
    return got.status === 409 && got.text.includes("in_flight") ? getOnceThere(headers) : got
  }
  return { get, getOnceThere, payment: async () => LedgerSeller.payFor("acct-alice", (await get()).text) }
}

const goods = "x".repeat(2_000)

const handlers: ReadonlyArray<readonly [string, RequestHandler]> = [
  ["sends it at once", (_, response) => void response.type("text").send(goods)],
  ["writes its head first", (_, response) => void response.writeHead(200, { "Content-Type": "text/plain" }).end(goods)],
  [
    "writes it in parts",
    (_, response) => {
      response.type("text").write(goods.slice(500))
      response.end(goods.slice(-500))
    }
  ]
]

const orders = ["before-handler", "after-handler"] as const
const covers = ["payment", "response"] as const

describe.each(handlers)("a compressed response whose handler %s", (_, handler) => {
  it.each(
    [true, false].flatMap((isInside) =>
      orders.flatMap((settle) => covers.map((receipt) => ({ isInside, settle, receipt })))
    )
  )("comes again readable (inside: $isInside, $settle, receipt: $receipt)", async ({ isInside, ...config }) => {
    const shop = await open(handler, config, isInside)
    const payment = await shop.payment()
    const first = await shop.get(payment)
    assert.deepStrictEqual(first, { status: 200, encoding: "gzip", cookies: ["session=1"], text: goods })
    assert.deepStrictEqual(await shop.getOnceThere(payment), first)
  })
})

it("a response that is compressed behind the gate, and too long to be held for its receipt, leaves whole", async () => {
  const long = randomBytes(maximumHeldBytes + 1024).toString("base64")
  const handler: RequestHandler = (_, response) => void response.type("text").send(long)
  const shop = await open(handler, { receipt: "response", repeat: undefined }, true)
  const { status, text } = await shop.get(await shop.payment())
  assert.strictEqual(status, 200)
  assert.isTrue(text === long)
})
