/** Responses of another server that a handler passes on, as `fetch` gives them, over real connections. */
import { once } from "node:events"
import { createServer, request, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

import { serve } from "@hono/node-server"
import { assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentHandler } from "../src/index.ts"

const portOf = async (server: Server): Promise<number> => {
  if (!server.listening) await once(server, "listening")
  return (server.address() as AddressInfo).port
}

const ask = async (port: number, headers: Readonly<Record<string, string>> = {}) => {
  const asking = request({ host: "127.0.0.1", port, path: "/report", headers, agent: false })
  asking.end()
  const [response] = (await once(asking, "response")) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

const orders = [
  { settle: "before-handler", receipt: "payment" },
  { settle: "before-handler", receipt: "response" },
  { settle: "after-handler", receipt: "payment" }
] as const

describe.each(orders)("a response that is passed on in chunks ($settle, receipt: $receipt)", (order) => {
  it.each([200, 404])("says its length in one way (status %d)", async (status) => {
    const upstream = createServer((_, response) => {
      response.statusCode = status
      response.write("It will ")
      response.end("rain.")
    }).listen(0, "127.0.0.1")
    const source = `http://127.0.0.1:${await portOf(upstream)}/`
    const { ledger, options, terms } = LedgerSeller.open()
    ledger.deposit("acct-buyer", 1_000_000n)
    const receipts = {
      address: "0x1111111111111111111111111111111111111111",
      signTypedData: () => Promise.resolve(`0x${"ab".repeat(65)}` as const)
    } as const
    const sold = paymentHandler({ ...options, receipts, routes: { "GET /report": { ...terms, ...order } } }, () =>
      fetch(source)
    )
    await sold.ready()
    const server = serve({ fetch: (incoming) => sold(incoming), port: 0, hostname: "127.0.0.1" }) as Server
    const port = await portOf(server)
    const payment = await LedgerSeller.payFor("acct-buyer", (await ask(port)).body)
    const response = await ask(port, payment)
    assert.deepInclude(response, { status, body: "It will rain." })
    assert.isFalse("content-length" in response.headers && "transfer-encoding" in response.headers)
    server.close()
    upstream.close()
    await sold.close()
  })
})
