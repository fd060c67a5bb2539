/** Responses that come again (`repeat: "same"`), over both versions of HTTP. */
import { once } from "node:events"
import { connect } from "node:http2"
import type { AddressInfo } from "node:net"
import { PassThrough } from "node:stream"

import fastify, { type FastifyInstance, type FastifyReply } from "fastify"
import { afterEach, assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentPlugin } from "../src/index.ts"

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface Got {
  readonly status: number
  readonly location: string | undefined
  readonly text: string
}

type Ask = (headers?: Readonly<Record<string, string>>) => Promise<Got>

const firstAsk =
  (port: number): Ask =>
  async (headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/report`, { headers, redirect: "manual" })
    const text = await response.text().catch(() => "broken off")
    return { status: response.status, location: response.headers.get("location") ?? undefined, text }
  }

const secondAsk =
  (port: number): Ask =>
  async (headers = {}) => {
    const session = connect(`http://127.0.0.1:${port}`)
    const stream = session.request({ ":path": "/report", ...headers })
    const [{ ":status": status = 0, location }] = await once(stream, "response")
    const chunks: Array<Buffer> = []
    for await (const chunk of stream) chunks.push(chunk)
    session.close()
    return { status, location, text: Buffer.concat(chunks).toString() }
  }

const open = async (
  isSecond: boolean,
  settle: "before-handler" | "after-handler",
  handler: (reply: FastifyReply) => unknown
) => {
  const { ledger, options, terms, transfers } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const payment = paymentPlugin({ ...options, routes: { "GET /report": { ...terms, settle, repeat: "same" } } })
  const app = (isSecond ? fastify({ http2: true }) : fastify({ forceCloseConnections: true })) as FastifyInstance
  await app.register(payment)
  app.get("/report", (_request, reply) => handler(reply))
  await app.listen({ port: 0, host: "127.0.0.1" })
  closing.push(() => app.close())
  await payment.ready()
  const ask = (isSecond ? secondAsk : firstAsk)((app.server.address() as AddressInfo).port)
  /** The response once the run that goes meanwhile has ended. */
  const askOnceThere: Ask = async (headers) => {
    const got = await ask(headers)
    return got.text.includes("in_flight") ? askOnceThere(headers) : got
  }
  const pay = await LedgerSeller.payFor("acct-alice", (await ask()).text)
  return { ask, askOnceThere, pay, transfers }
}

const versions = [
  ["HTTP/1.1", false],
  ["HTTP/2", true]
] as const

describe.each(["before-handler", "after-handler"] as const)("a response that is kept, %s", (settle) => {
  it.each(versions)("comes again without a body over %s: a redirect", async (_, isSecond) => {
    const shop = await open(isSecond, settle, (reply) => reply.redirect("https://files.example/signed?x=1"))
    const first = await shop.ask(shop.pay)
    assert.deepStrictEqual(first, { status: 302, location: "https://files.example/signed?x=1", text: "" })
    assert.deepStrictEqual(await shop.askOnceThere(shop.pay), first)
    assert.strictEqual(shop.transfers(), 1n)
  })

  it.each(versions)("comes again without a body over %s: 204", async (_, isSecond) => {
    const shop = await open(isSecond, settle, (reply) => reply.code(204).send())
    assert.strictEqual((await shop.ask(shop.pay)).status, 204)
    assert.strictEqual((await shop.askOnceThere(shop.pay)).status, 204)
    assert.strictEqual(shop.transfers(), 1n)
  })
})

describe("a response that its handler's stream breaks off", () => {
  it("is owed at once, although its client is still there", async () => {
    let runs = 0
    const shop = await open(false, "before-handler", (reply) => {
      const body = new PassThrough()
      body.write("some")
      if (++runs === 1) setImmediate(() => body.destroy(new Error("upstream is gone")))
      else body.end(" more")
      return reply.type("text/plain").send(body)
    })
    assert.strictEqual((await shop.ask(shop.pay)).text, "broken off")
    assert.deepStrictEqual(await shop.askOnceThere(shop.pay), { status: 200, location: undefined, text: "some more" })
    assert.strictEqual(runs, 2)
    assert.strictEqual(shop.transfers(), 1n)
  })
})
