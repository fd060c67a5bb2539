import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { type CallToolResult, ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import type { Settlement } from "@pontage/core"
import { afterEach, assert, describe, it } from "vitest"
import { z } from "zod/v4"

import { type PaidTools, type PayingToolsOptions, receiptOf, type ToolTerms } from "../src/index.ts"
import { call, paymentFor, requestIn } from "./FakeTools.ts"
import * as LedgerTools from "./LedgerTools.ts"
import * as OpenTools from "./OpenTools.ts"

const { rejection, terms } = LedgerTools

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] })

interface Open {
  readonly over?: "inMemory" | "overHttp"
  readonly terms?: Partial<ToolTerms>
  readonly payer?: Partial<PayingToolsOptions>
  /** The transport between payer and server. */
  readonly between?: (client: Client) => Client
}

const open = async (stock: (paid: PaidTools, server: McpServer) => void, options: Open = {}) => {
  const { over = "inMemory", between = (client: Client) => client } = options
  const { ledger, shop } = LedgerTools.make()
  closing.push(shop.close)
  const paid = shop.paid({ ...terms, ...options.terms } as ToolTerms)
  await shop.ready()
  const opened = await { inMemory: OpenTools.inMemory, overHttp: OpenTools.overHttp }[over]((server) =>
    stock(paid, server)
  )
  closing.push(opened.close)
  const payer = LedgerTools.pay(between(opened.client), options.payer)
  return { ...opened, ...payer, ledger, transfers: () => ledger.transfers.length }
}

/** Sells `weather`, gives `time` away, and counts the runs. */
const weather = async (options?: Open) => {
  const ran = { weather: 0, time: 0 }
  const opened = await open((paid, server) => {
    paid.registerTool(
      server,
      "weather",
      {
        inputSchema: { city: z.string() },
        outputSchema: { degrees: z.number() }
      },
      ({ city }) => ({ ...text(`sun over ${city}`), structuredContent: { degrees: 20 + ran.weather++ } })
    )
    server.registerTool("time", { outputSchema: { hour: z.number() } }, () => ({
      content: [],
      structuredContent: { hour: ran.time++ === 0 ? 12 : "noon" }
    }))
  }, options)
  return { ...opened, ran }
}

const rome = { name: "weather", arguments: { city: "Rome" } }

for (const over of ["inMemory", "overHttp"] as const) {
  describe(`a tool that asks for a payment, ${over}`, () => {
    it("is paid once, and its result comes with the receipt", async () => {
      const told: Array<Settlement.Settlement> = []
      const { ledger, ran, signed, tools, transfers } = await weather({
        over,
        payer: { onPayment: (receipt) => void told.push(receipt) }
      })
      const result = await tools.callTool(rome)
      assert.deepStrictEqual(result.content, text("sun over Rome").content)
      assert.deepStrictEqual(result.structuredContent, { degrees: 20 })
      const [receipt] = told
      assert.include(receipt, { payer: LedgerTools.payer, amount: "10000", network: "ledger:test" })
      assert.match(receipt?.paymentId ?? "", /^pay_/)
      const { paymentId: _, ...said } = receipt ?? {}
      assert.deepStrictEqual<object | undefined>(receiptOf(result), said)
      assert.deepStrictEqual([told.length, ran.weather, signed.length, transfers()], [1, 1, 1, 1])
      assert.strictEqual(ledger.balanceOf("acct-shop"), 10_000n)
      const { entry } = await tools.status(receipt?.paymentId ?? "")
      assert.include(entry, { state: "settled", method: "tools/call weather" })
    })
  })
}

describe("a result that does not ask for a payment", () => {
  it("passes through as it is", async () => {
    const { signed, tools } = await weather()
    assert.deepStrictEqual((await tools.callTool({ name: "time" })).structuredContent, { hour: 12 })
    assert.isTrue((await tools.callTool({ name: "nothing" })).isError)
    assert.deepStrictEqual(signed, [])
  })

  it("is held against the tool's output schema, as the SDK does; a payment request is not", async () => {
    const { client, tools } = await weather()
    await client.listTools()
    assert.deepStrictEqual((await tools.callTool({ name: "time" })).structuredContent, { hour: 12 })
    assert.deepStrictEqual((await tools.callTool(rome)).structuredContent, { degrees: 20 })
  })

  it("may be a payment request to a caller that pays by itself", async () => {
    const { client, ran, signed, tools } = await weather()
    await client.listTools()
    const { "x402/payment": payment } = paymentFor(requestIn(await call(client, "weather", { city: "Rome" })))
    const result = await tools.callTool({ ...rome, _meta: { "x402/payment": payment } })
    assert.include(requestIn(result as CallToolResult) as object, { reason: "malformed" })
    assert.deepStrictEqual([ran.weather, signed.length], [0, 0])
  })
})

describe("the payer's rules", () => {
  const cases: Readonly<Record<string, readonly [Partial<PayingToolsOptions>, string]>> = {
    "a limit for one request": [{ limits: { perRequest: "$0.009" } }, "over_request_limit"],
    "the hosts that are allowed": [{ allow: { hosts: ["market"] } }, "host_not_allowed"],
    "the payees that are allowed": [{ allow: { payees: ["acct-else"] } }, "payee_not_allowed"],
    "a person's no": [{ confirm: () => false }, "confirm_refused"]
  }
  for (const [name, [payer, rule]] of Object.entries(cases)) {
    it(`hold: ${name}`, async () => {
      const { ran, signed, tools, transfers } = await weather({ payer })
      assert.include(await rejection(tools.callTool(rome)), { _tag: "PaymentDeclined", rule })
      assert.deepStrictEqual([ran.weather, signed.length, transfers()], [0, 0, 0])
    })
  }

  it("add up over calls, and know the server by its name", async () => {
    const payer = { limits: { perHost: "$0.02" }, allow: { hosts: ["shop"] } }
    const { ran, tools } = await weather({ payer })
    for (const city of ["Rome", "Bonn"]) {
      // oxlint-disable-next-line no-await-in-loop -- the test is about the order
      await tools.callTool({ name: "weather", arguments: { city } })
    }
    const declined = await rejection(tools.callTool({ name: "weather", arguments: { city: "Oslo" } }))
    assert.include(declined, { rule: "over_host_limit" })
    assert.strictEqual(ran.weather, 2)
  })

  it("go by the URL of a server that has one, whatever name is given", async () => {
    const { tools, url } = { url: undefined, ...(await weather({ over: "overHttp" })) }
    const { payable: [quote] = [] } = (await tools.quote(rome)) ?? {}
    assert.strictEqual(quote?.url, String(url))
    assert.include(quote, { price: "$0.01", method: "tools/call weather" })
    const strict = await weather({ over: "overHttp", payer: { allow: { hosts: ["shop"] } } })
    assert.include(await rejection(strict.tools.callTool(rome)), { rule: "host_not_allowed" })
  })

  it("do not pay over an unencrypted connection", async () => {
    const { ran, tools } = await weather({
      between: (client) =>
        Object.create(client, { transport: { value: { ...client.transport, _url: new URL("http://shop.example") } } })
    })
    assert.include(await rejection(tools.callTool(rome)), { rule: "insecure_url" })
    assert.strictEqual(ran.weather, 0)
  })

  it("ask for a name where there is no URL", async () => {
    const { client } = await weather()
    const { tools } = LedgerTools.pay(client, { isNamed: false })
    assert.match((await rejection(tools.callTool(rome))).message, /^server: this transport has no URL/)
  })
})

describe("quote", () => {
  it("says what a call would cost and pays nothing", async () => {
    const { ran, signed, tools } = await weather()
    const quotation = await tools.quote(rome)
    assert.deepStrictEqual(
      quotation?.payable.map(({ amount, url }) => [amount, url]),
      [[10_000n, "https://shop/"]]
    )
    assert.isUndefined(await tools.quote({ name: "time" }))
    assert.deepStrictEqual([ran.weather, signed.length], [0, 0])
  })
})

describe("one payment", () => {
  it("of many calls at once, and of more after them, runs the tool once", async () => {
    const sent: Array<Record<string, unknown>> = []
    const unsent = new McpError(ErrorCode.InternalError, "kept, not sent")
    const { client, ran, tools, transfers } = await weather({
      between: (client) => recording(client, sent, () => unsent, true)
    })
    await rejection(tools.callTool(rome))
    const send = () => call(client, "weather", { city: "Rome" }, sent[0])
    const results = await Promise.all(Array.from({ length: 8 }, send))
    assert.strictEqual(results.filter(({ isError }) => isError !== true).length, 1)
    assert.include(requestIn(await send()) as object, { reason: "already_used", detail: "spent" })
    assert.deepStrictEqual([ran.weather, transfers()], [1, 1])
  })

  it("buys the run of a tool that has failed, with another call and without another signature", async () => {
    let runs = 0
    const { signed, tools, transfers } = await open((paid, server) => {
      paid.registerTool(server, "flaky", {}, () => {
        if (runs++ === 0) throw new Error("out of ink")
        return text("printed")
      })
    })
    const failed = await tools.callTool({ name: "flaky" })
    assert.isTrue(failed.isError)
    assert.deepStrictEqual(failed.content, text("out of ink").content)
    assert.isDefined(receiptOf(failed))
    const served = await tools.callTool({ name: "flaky" })
    assert.deepStrictEqual(served.content, text("printed").content)
    assert.deepStrictEqual([runs, signed.length, transfers()], [2, 1, 1])
  })

  it("of a call that the tool refuses pays for a corrected one, with other arguments", async () => {
    const { signed, tools, transfers } = await open((paid, server) => {
      paid.registerTool(server, "print", { inputSchema: { page: z.string() } }, ({ page }) =>
        page === "zero" ? { ...text("no such page"), isError: true } : text(page)
      )
      paid.registerTool(server, "copy", {}, () => text("copied"))
    })
    const refused = await tools.callTool({ name: "print", arguments: { page: "zero" } })
    assert.deepInclude(receiptOf(refused)?.ifRefused, { runs: 4 })
    assert.deepStrictEqual((await tools.callTool({ name: "copy" })).content, text("copied").content)
    assert.deepStrictEqual([signed.length, transfers()], [2, 2])
    const served = await tools.callTool({ name: "print", arguments: { page: "one" } })
    assert.deepStrictEqual(served.content, text("one").content)
    assert.notProperty(receiptOf(served), "ifRefused")
    assert.deepStrictEqual([signed.length, transfers()], [2, 2])
    await tools.callTool({ name: "print", arguments: { page: "two" } })
    assert.deepStrictEqual([signed.length, transfers()], [3, 3])
  })

  it("of a call that finds nothing is spent where that is what is sold", async () => {
    const { signed, tools } = await open(
      (paid, server) => {
        paid.registerTool(server, "find", { inputSchema: { name: z.string() } }, ({ name }) => {
          if (name === "crash") throw new Error("out of memory")
          return { ...text("nothing"), isError: true }
        })
      },
      { terms: { refused: "charged" } }
    )
    const find = async (name: string) => (await tools.callTool({ name: "find", arguments: { name } })).content
    const found = [await find("a"), await find("b"), await find("a")]
    assert.deepStrictEqual(found, Array(3).fill(text("nothing").content))
    assert.strictEqual(signed.length, 3)
    await find("crash")
    await find("crash")
    assert.strictEqual(signed.length, 4)
  })

  it("of a tool that is charged for after its run costs nothing where it fails, and is sent again", async () => {
    let runs = 0
    const { signed, tools, transfers } = await open(
      (paid, server) => {
        paid.registerTool(server, "flaky", {}, () => (runs++ === 0 ? { ...text("no"), isError: true } : text("yes")))
      },
      { terms: { settle: "after-handler" } }
    )
    const failed = await tools.callTool({ name: "flaky" })
    assert.isTrue(failed.isError)
    assert.isUndefined(receiptOf(failed))
    assert.strictEqual(transfers(), 0)
    const served = await tools.callTool({ name: "flaky" })
    assert.deepStrictEqual(served.content, text("yes").content)
    assert.deepStrictEqual([runs, signed.length, transfers()], [2, 1, 1])
  })

  it("whose result was lost is sent again, and never paid a second time", async () => {
    const sent: Array<Record<string, unknown>> = []
    const { ran, signed, tools, transfers } = await weather({
      between: (client) => recording(client, sent, (paid) => paid === 1 && new McpError(-32_000, "Connection closed"))
    })
    const error = await rejection(tools.callTool(rome))
    assert.include(error, { _tag: "ValidationError", reason: "already_used" })
    assert.strictEqual(sent.length, 2)
    assert.deepStrictEqual(sent[0], sent[1])
    assert.deepStrictEqual([ran.weather, signed.length, transfers()], [1, 1, 1])
  })

  it("whose call the server rejects with an error of the protocol is kept, and sent with the next", async () => {
    const sent: Array<Record<string, unknown>> = []
    const { ran, signed, tools, transfers } = await weather({
      between: (client) =>
        recording(client, sent, (paid) => paid === 1 && new McpError(ErrorCode.InternalError, "oops"), true)
    })
    assert.include((await rejection(tools.callTool(rome))).message, "oops")
    assert.deepStrictEqual((await tools.callTool(rome)).structuredContent, { degrees: 20 })
    assert.deepStrictEqual(sent[0], sent[1])
    assert.deepStrictEqual([ran.weather, signed.length, transfers()], [1, 1, 1])
  })

  it("goes with the arguments it was asked for, whatever the caller makes of them meanwhile", async () => {
    const given = { city: "Rome" }
    const { ran, tools } = await weather({
      payer: {
        confirm: () => {
          given.city = "Bonn"
          return true
        }
      }
    })
    const { content } = await tools.callTool({ name: "weather", arguments: given })
    assert.deepStrictEqual(content, text("sun over Rome").content)
    assert.strictEqual(ran.weather, 1)
  })

  it("is not made for a caller that has gone while it was asked for a yes", async () => {
    const controller = new AbortController()
    const { signed, tools } = await weather({
      payer: {
        confirm: () => {
          controller.abort(new Error("enough"))
          return true
        }
      }
    })
    assert.strictEqual((await rejection(tools.callTool(rome, undefined, controller))).message, "enough")
    assert.deepStrictEqual(signed, [])
  })
})

/**
 * A client that keeps what is sent to pay, and in place of the result of the n-th of them has this error; `instead` says
 * that the call does not even reach the server.
 */
const recording = (
  client: Client,
  sent: Array<Record<string, unknown>>,
  failure: (paid: number) => Error | false = () => false,
  instead = false
): Client =>
  Object.create(client, {
    request: {
      value: async (...parameters: Parameters<Client["request"]>) => {
        const { _meta } = parameters[0].params ?? {}
        if (_meta?.["x402/payment"] === undefined) return client.request(...parameters)
        sent.push(_meta)
        const error = failure(sent.length)
        if (error !== false && instead) throw error
        const result: unknown = await client.request(...parameters)
        if (error !== false) throw error
        return result
      }
    }
  })
