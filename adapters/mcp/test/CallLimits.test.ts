/** Paid calls that run into a limit of their caller, or have no connection: they are over, and their payment goes with the next one. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { afterEach, assert, describe, it } from "vitest"

import * as HurriedClock from "./HurriedClock.ts"
import * as LedgerTools from "./LedgerTools.ts"
import * as OpenTools from "./OpenTools.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

type Parameters = globalThis.Parameters<Client["request"]>

const content = [{ type: "text" as const, text: "slow" }]

/** Sells a tool, which may wait for something; `stand` stands in for the n-th paid request. */
const open = async (
  stand: (client: Client, parameters: Parameters, paid: number) => Promise<unknown>,
  waiting?: Promise<void>
) => {
  const { ledger, shop } = LedgerTools.make()
  const paid = shop.paid(LedgerTools.terms)
  await shop.ready()
  const stock: OpenTools.Stock = (server) =>
    paid.registerTool(server, "slow", {}, async () => {
      await waiting
      return { content }
    })
  // Over HTTP without sessions no server hears of a call that is cancelled.
  const { client, close, url } = {
    url: undefined,
    ...(await (waiting ? OpenTools.inMemory : OpenTools.overHttp)(stock))
  }
  closing.push(shop.close, close)
  const sent: Array<RequestOptions | undefined> = []
  const between: Client = Object.create(client, {
    request: {
      value: async (...parameters: Parameters) => {
        if (parameters[0].params?._meta?.["x402/payment"] === undefined) return client.request(...parameters)
        sent.push(parameters[2])
        return stand(client, parameters, sent.length)
      }
    }
  })
  const began = Date.now()
  const { signed, tools } = LedgerTools.pay(between, { clock: HurriedClock.make(() => began) })
  return {
    client,
    url,
    sent,
    call: (options?: RequestOptions) => tools.callTool({ name: "slow" }, undefined, options),
    counts: () => ({ sent: sent.length, signed: signed.length, transfers: ledger.transfers.length })
  }
}

const lost = async (): Promise<never> => {
  throw new McpError(ErrorCode.ConnectionClosed, "Connection closed")
}

describe("a paid call", () => {
  it("that runs into its caller's timeout ends with it, and the next call sends the same payment", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { call, counts } = await open(
      (client, [request, schema, options], paid) =>
        client.request(request, schema, paid === 1 ? { ...options, timeout: 1 } : options),
      promise
    )
    const error = await LedgerTools.rejection(call())
    assert.include(error, { name: "McpError", code: ErrorCode.RequestTimeout })
    assert.strictEqual(counts().sent, 1)
    resolve()
    assert.deepStrictEqual((await call()).content, content)
    assert.deepInclude(counts(), { signed: 1, transfers: 1 })
  })

  it("has its timeout once for all of its paid requests", async () => {
    const { call, counts, sent } = await open(lost)
    const error = await LedgerTools.rejection(call({ timeout: 5000 }))
    assert.include(error, { code: ErrorCode.RequestTimeout })
    assert.deepStrictEqual(counts(), { sent: 3, signed: 1, transfers: 0 })
    assert.deepStrictEqual(
      sent.map((given) => given?.timeout),
      [5000, 4000, 2000]
    )
  })

  it("has its timeout after each progress, and its greatest time once", async () => {
    const { call, counts, sent } = await open(lost)
    const options = { timeout: 2500, resetTimeoutOnProgress: true, maxTotalTimeout: 6000 }
    assert.include(await LedgerTools.rejection(call(options)), { code: ErrorCode.RequestTimeout })
    assert.deepStrictEqual(counts(), { sent: 3, signed: 1, transfers: 0 })
    assert.deepStrictEqual(
      sent.map((given) => [given?.timeout, given?.maxTotalTimeout]),
      [
        [2500, 6000],
        [2500, 5000],
        [2500, 3000]
      ]
    )
  })

  it("without a connection ends at once, and the next call sends the same payment", async () => {
    const { call, client, counts, url } = await open(async (client, parameters, paid) => {
      if (paid === 1) await client.close()
      return client.request(...parameters)
    })
    assert.strictEqual((await LedgerTools.rejection(call())).message, "Not connected")
    assert.deepStrictEqual(counts(), { sent: 1, signed: 1, transfers: 0 })
    assert(url !== undefined)
    await client.connect(new StreamableHTTPClientTransport(url))
    assert.deepStrictEqual((await call()).content, content)
    assert.deepStrictEqual(counts(), { sent: 2, signed: 1, transfers: 1 })
  })
})
