/** WebSockets on sold routes, routed as `@fastify/websocket` routes them. */
import { ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import fastify from "fastify"
import { afterEach, assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import * as UpgradingClient from "../../../core/test/server/UpgradingClient.ts"
import { paymentPlugin } from "../src/index.ts"

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  UpgradingClient.closeAll()
  await Promise.all(closing.splice(0).map((close) => close()))
})

const open = async (config: object) => {
  const { ledger, options, terms, transfers } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const payment = paymentPlugin({ ...options, routes: { "GET /feed": { ...terms, ...config } } })
  const app = fastify({ forceCloseConnections: true })
  app.server.on("upgrade", (request, socket) => {
    // A connection that its handler has not taken has no other reader.
    socket
      .on("error", () => undefined)
      .on("end", () => void socket.destroy())
      .resume()
    const response = new ServerResponse(request)
    response.assignSocket(request.socket)
    app.routing(request, response)
  })
  await app.register(payment)
  app.get("/feed", (request, reply) => {
    reply.hijack()
    UpgradingClient.upgrade(request.raw.socket)
  })
  await app.listen({ port: 0, host: "127.0.0.1" })
  closing.push(() => app.close())
  await payment.ready()
  const { port } = app.server.address() as AddressInfo
  const ask = (headers?: Readonly<Record<string, string>>) => UpgradingClient.ask(port, "/feed", headers)
  /** The answer once the run that goes meanwhile has ended. */
  const askOnceThere: typeof ask = async (headers) => {
    const got = await ask(headers)
    return got.text.includes("in_flight") ? askOnceThere(headers) : got
  }
  const pay = await LedgerSeller.payFor("acct-alice", (await ask()).text)
  return { ask, askOnceThere, pay, transfers }
}

describe("a WebSocket", () => {
  it.each([{}, { repeat: "same" }])("is sold once (%o)", async (config) => {
    const shop = await open(config)
    const socket = await shop.ask(shop.pay)
    assert.strictEqual(socket.status, 101)
    assert.strictEqual(socket.text, "goods")
    const second = await shop.askOnceThere(shop.pay)
    assert.strictEqual(second.status, 409)
    assert.include(second.text, "already_used")
    await socket.close()
    assert.strictEqual((await shop.askOnceThere(shop.pay)).status, 409)
    assert.strictEqual(shop.transfers(), 1n)
  })

  it("cannot be charged after its handler: it is refused before that, and costs nothing", async () => {
    const shop = await open({ settle: "after-handler" })
    const { status, text } = await shop.ask(shop.pay)
    assert.strictEqual(status, 500)
    assert.match(text, /WebSocket/)
    assert.strictEqual(shop.transfers(), 0n)
  })
})
