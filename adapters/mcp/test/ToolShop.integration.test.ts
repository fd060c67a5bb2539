import type { RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { invalid } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { afterEach, assert, describe, expectTypeOf, it } from "vitest"
import { z } from "zod/v4"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import * as FakeScheme from "../../../core/test/server/FakeScheme.ts"
import { type PaidTools, settlementOf, type ToolExtra, type ToolTerms } from "../src/index.ts"
import * as FakeTools from "./FakeTools.ts"
import * as OpenTools from "./OpenTools.ts"

const { buy, call, paymentFor, requestIn, terms } = FakeTools

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] })

interface Open {
  readonly says?: Parameters<typeof FakeTools.make>[0]
  readonly over?: "inMemory" | "overHttp"
  readonly terms?: Partial<ToolTerms>
}

const open = async (
  stock: (paid: PaidTools) => OpenTools.Stock,
  { over = "inMemory", says, ...changes }: Open = {}
) => {
  const { facilitator, shop } = FakeTools.make(says)
  closing.push(shop.close)
  const paid = shop.paid({ ...terms, ...changes.terms } as ToolTerms)
  await shop.ready()
  const { client, close } = await { inMemory: OpenTools.inMemory, overHttp: OpenTools.overHttp }[over](stock(paid))
  closing.push(close)
  return { client, facilitator, shop, ends: () => FakeFacilitator.outcomes(facilitator.told) }
}

/** Sells `weather`, and counts its runs. */
const weather = async (options?: Open) => {
  const seen: Array<string> = []
  const shop = await open(
    (paid) => (server) =>
      paid.registerTool(
        server,
        "weather",
        { description: "The weather of a city", inputSchema: { city: z.string(), days: z.number().default(1) } },
        ({ city, days }, extra) => {
          seen.push(`${city} ${days}`)
          return text(`${settlementOf(extra)?.payer} sees the sun over ${city}`)
        }
      ),
    options
  )
  return { ...shop, seen }
}

const mistake = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    assert.strictEqual((error as { _tag?: string })._tag, "Misconfigured")
    return (error as Error).message
  }
  return "no mistake"
}

for (const over of ["inMemory", "overHttp"] as const) {
  describe(`a priced tool, ${over}`, () => {
    it("is refused unpaid with the payment request, as an object and as the same text, and does not run", async () => {
      const { client, seen } = await weather({ over })
      const { content, isError, structuredContent } = await call(client, "weather", { city: "Rome" })
      assert.isTrue(isError)
      assert.deepStrictEqual(content, [{ type: "text", text: JSON.stringify(structuredContent) }])
      const { accepts, ...request } = structuredContent as unknown as FakeTools.PaymentRequest
      assert.deepStrictEqual(request, {
        x402Version: 2,
        error: "Payment required",
        resource: { url: "mcp://tool/weather", description: "The weather of a city", mimeType: "" }
      })
      const [{ extra, ...offer } = { extra: {} }] = accepts
      assert.deepStrictEqual<object>(offer, {
        scheme: "exact",
        network: "eip155:8453",
        amount: "10000",
        asset: FakeScheme.usdc,
        payTo: FakeScheme.alice,
        maxTimeoutSeconds: 60
      })
      assert.hasAllKeys(extra, ["name", "version", "challenge", "paymentFlow", "retryToken", "routeToken"])
      assert.deepStrictEqual(seen, [])
    })

    it("runs once when it is paid, with the receipt, and is reported as served", async () => {
      const { client, facilitator, seen } = await weather({ over })
      const { _meta, content, isError } = await buy(client, "weather", { city: "Rome" })
      assert.notStrictEqual(isError, true)
      assert.deepStrictEqual(content, [{ type: "text", text: "0xpayer sees the sun over Rome" }])
      assert.deepStrictEqual(_meta?.["x402/payment-response"], {
        success: true,
        payer: "0xpayer",
        transaction: "0xfeed",
        network: "eip155:8453",
        amount: "10000"
      })
      assert.deepStrictEqual(seen, ["Rome 1"])
      assert.strictEqual(await facilitator.nextEnd(), "served")
    })
  })
}

describe("a tool's own _meta", () => {
  it("is kept, but for a receipt, which it cannot forge", async () => {
    const forged = { own: 1, "x402/payment-response": { success: true, transaction: "0xforged" } }
    const { client } = await flaky(() => ({ ...text("hello"), _meta: forged }))
    const { _meta = {} } = await buy(client, "flaky")
    assert.strictEqual(_meta["own"], 1)
    assert.include(_meta["x402/payment-response"] as object, { transaction: "0xfeed" })
  })
})

describe("a payment", () => {
  it("for one call buys no other: other arguments, or another tool with the same ones", async () => {
    let runs = 0
    const { client, facilitator } = await open((paid) => (server) => {
      for (const name of ["one", "other"]) {
        paid.registerTool(server, name, { inputSchema: { city: z.string() } }, () => text(`${++runs}`))
      }
    })
    const payment = paymentFor(requestIn(await call(client, "one", { city: "Rome" })))
    const refusals = await Promise.all([
      call(client, "one", { city: "Bonn" }, payment),
      call(client, "other", { city: "Rome" }, payment)
    ])
    for (const refusal of refusals) {
      assert.include(requestIn(refusal) as object, { reason: "binding_mismatch", detail: "other_request" })
    }
    assert.strictEqual(runs, 0)
    assert.isTrue(facilitator.told.every((told) => told.ask !== "finish" && told.claim?.onlyKnown === true))
    assert.deepStrictEqual((await call(client, "one", { city: "Rome" }, payment)).content, text("1").content)
  })

  it("is good for the same arguments in another order, and not for what a default stands for", async () => {
    const { client, seen } = await weather()
    const payment = paymentFor(requestIn(await call(client, "weather", { city: "Rome", days: 2 })))
    await call(client, "weather", { days: 2, city: "Rome" }, payment)
    assert.deepStrictEqual(seen, ["Rome 2"])
    const short = paymentFor(requestIn(await call(client, "weather", { city: "Rome" })))
    requestIn(await call(client, "weather", { city: "Rome", days: 1 }, short))
    assert.deepStrictEqual(seen, ["Rome 2"])
  })

  it("is bound to what was sent, whatever a schema makes of it: a default that differs at every call is sold", async () => {
    const seen: Array<number> = []
    let calls = 0
    const { client } = await open(
      (paid) => (server) =>
        paid.registerTool(
          server,
          "draw",
          { inputSchema: { at: z.number().default(() => ++calls), what: z.string().transform((what) => () => what) } },
          ({ at }) => {
            seen.push(at)
            return text(`${at}`)
          }
        ),
      { terms: { binding: "required" } }
    )
    const { content } = await buy(client, "draw", { what: "x" })
    assert.deepStrictEqual([content, seen], [text("2").content, [2]])
  })

  it("has its price computed from what the tool gets", async () => {
    const priced: Array<unknown> = []
    const getPrice = ({ body }: { readonly body: unknown }) => {
      priced.push(body)
      return "$0.01"
    }
    const { client } = await weather({ terms: { price: undefined, getPrice } as never })
    await buy(client, "weather", { city: "Rome" })
    assert.deepStrictEqual(priced, [
      { city: "Rome", days: 1 },
      { city: "Rome", days: 1 }
    ])
  })

  it("without a binding is refused where one is required", async () => {
    const { client, seen } = await weather({ terms: { binding: "required" } })
    const request = requestIn(await call(client, "weather", { city: "Rome" }))
    const unbound = { ...request, accepts: [{ ...request.accepts[0], extra: { name: "USD Coin", version: "2" } }] }
    const refusal = requestIn(await call(client, "weather", { city: "Rome" }, paymentFor(unbound)))
    assert.include(refusal as object, { reason: "binding_mismatch", detail: "binding_missing" })
    assert.deepStrictEqual(seen, [])
  })

  it.each([
    ["of another version", { x402Version: 1 }, "unsupported_version"],
    ["that is text", "eyJ4NDAyVmVyc2lvbiI6Mn0=", "malformed"],
    ["that is null", null, "malformed"],
    ["that is too long", { x402Version: 2, payload: "A".repeat(9_000) }, "malformed"],
    ["that is too deep", { x402Version: 2, payload: JSON.parse("[".repeat(40) + "]".repeat(40)) }, "malformed"]
  ])("%s is refused without a request to the facilitator", async (_, payment, reason) => {
    const { client, facilitator, seen } = await weather()
    const refusal = requestIn(await call(client, "weather", { city: "Rome" }, { "x402/payment": payment }))
    assert.include(refusal as object, { reason })
    assert.isNotEmpty(refusal.accepts)
    assert.deepStrictEqual([seen, facilitator.told], [[], []])
  })

  it("that the facilitator refuses is refused in its words, with fresh offers", async () => {
    const { client, seen } = await weather({
      says: { settle: () => Effect.fail(invalid("already_used", "spent", "it was used")) }
    })
    const refusal = requestIn(await buy(client, "weather", { city: "Rome" }))
    assert.include(refusal as object, {
      error: "invalid_exact_evm_nonce_already_used",
      reason: "already_used",
      retry: "never",
      message: "it was used"
    })
    assert.isNotEmpty(refusal.accepts)
    assert.deepStrictEqual(seen, [])
  })

  it("that is not confirmed gives nothing away", async () => {
    const { client, ends, facilitator, seen } = await weather({
      says: { settle: () => Effect.succeed(FakeFacilitator.settled({ status: "sent" })) }
    })
    const refusal = requestIn(await buy(client, "weather", { city: "Rome" }))
    assert.include(refusal as object, { error: "settlement_pending", retry: "same_payment" })
    await facilitator.nextEnd()
    assert.deepStrictEqual([seen, ends()], [[], ["unanswered"]])
  })

  it("that another call runs on is told to wait", async () => {
    const { client, seen } = await weather({
      says: { settle: () => Effect.succeed(FakeFacilitator.settled({ execution: "held" })) }
    })
    const refusal = requestIn(await buy(client, "weather", { city: "Rome" }))
    assert.include(refusal as object, { retry: "wait", detail: "in_flight" })
    assert.deepStrictEqual(seen, [])
  })
})

/** Sells `flaky`, which does as it is told. */
const flaky = (callback: () => CallToolResult | Promise<CallToolResult>, options?: Open) =>
  open((paid) => (server) => paid.registerTool(server, "flaky", {}, callback), options)

const failed: CallToolResult = { ...text("no such city"), isError: true }

describe("a tool that fails after the money has moved", () => {
  it.each([
    ["by a result", () => failed],
    ["by a throw", () => Promise.reject(new Error("no such city"))]
  ])("%s is good for other arguments too: it says so with the receipt", async (_, callback) => {
    const { client, facilitator } = await flaky(callback)
    const { _meta, content, isError } = await buy(client, "flaky")
    assert.isTrue(isError)
    assert.deepStrictEqual(content, failed.content)
    const receipt = _meta?.["x402/payment-response"] as { readonly ifRefused: object }
    assert.include<object>(receipt, { success: true, transaction: "0xfeed" })
    assert.include(receipt.ifRefused, { runs: 4, until: 1_800_000_000_000 })
    assert.strictEqual(await facilitator.nextEnd(), "refused")
  })

  it.each([
    [{ content: [] }, "no structured content"],
    [{ content: [], structuredContent: { degrees: "hot" } }, "violates its output schema"]
  ])("by content that violates its output schema likewise: %j", async (result, expected) => {
    const { client, facilitator } = await open(
      (paid) => (server) =>
        paid.registerTool(server, "flaky", { outputSchema: { degrees: z.number() } }, (): CallToolResult => result)
    )
    const { _meta, content, isError } = await buy(client, "flaky")
    assert.isTrue(isError)
    assert.include(JSON.stringify(content), expected)
    assert.property(_meta, "x402/payment-response")
    assert.strictEqual(await facilitator.nextEnd(), "refused")
  })

  it("by asking for a page to be opened says that to the caller, and is owed", async () => {
    const { client, facilitator } = await flaky(() => {
      throw new McpError(ErrorCode.UrlElicitationRequired, "open this", { elicitations: [] })
    })
    const error: unknown = await buy(client, "flaky").catch((reason: unknown) => reason)
    assert.strictEqual((error as McpError).code, ErrorCode.UrlElicitationRequired)
    assert.strictEqual(await facilitator.nextEnd(), "failed")
  })
})

const asks = ({ told }: FakeTools.FakeTools["facilitator"]) => told.map(({ ask }) => ask)

describe("a tool that is charged for after it has run", () => {
  const after: Open = { terms: { settle: "after-handler" } }
  it("is claimed, run, settled, and responded with the receipt", async () => {
    const seen: Array<ToolExtra> = []
    const { client, facilitator } = await open(
      (paid) => (server) =>
        paid.registerTool(server, "flaky", {}, (extra) => {
          seen.push(extra)
          return text(`${settlementOf(extra)?.payer}`)
        }),
      after
    )
    const { _meta, content } = await buy(client, "flaky")
    assert.deepStrictEqual(
      seen.map((extra) => settlementOf(extra)?.payer),
      ["0xpayer"]
    )
    assert.deepStrictEqual(content, text("undefined").content)
    assert.property(_meta, "x402/payment-response")
    assert.strictEqual(await facilitator.nextEnd(), "served")
    assert.deepStrictEqual(asks(facilitator), ["claim", "settle", "finish"])
  })

  it.each([
    ["by a result", () => failed],
    ["by a throw", () => Promise.reject(new Error("no such city"))]
  ])("and fails %s is not charged", async (_, callback) => {
    const { client, facilitator } = await flaky(callback, after)
    const { _meta, content, isError } = await buy(client, "flaky")
    assert.isTrue(isError)
    assert.deepStrictEqual(content, failed.content)
    assert.notProperty(_meta ?? {}, "x402/payment-response")
    assert.strictEqual(await facilitator.nextEnd(), "failed")
    assert.deepStrictEqual(asks(facilitator), ["claim", "finish"])
  })

  it("gives nothing away when the settlement fails", async () => {
    const { client, facilitator } = await flaky(() => text("precious"), {
      ...after,
      says: { settle: () => Effect.succeed(FakeFacilitator.settled({ status: "failed" })) }
    })
    const result = await buy(client, "flaky")
    assert.include(requestIn(result) as object, { retry: "new_payment" })
    assert.notInclude(JSON.stringify(result), "precious")
    assert.notProperty(result._meta ?? {}, "x402/payment-response")
    assert.strictEqual(await facilitator.nextEnd(), "unanswered")
  })
})

describe("a caller that cancels", () => {
  for (const [settle, asked] of [
    ["before-handler", ["settle", "finish"]],
    ["after-handler", ["claim", "finish"]]
  ] as const) {
    it(`while the tool runs is owed the run, or not charged: ${settle}`, async () => {
      const started = Deferred.makeUnsafe<void>()
      const gone = Deferred.makeUnsafe<void>()
      const { client, facilitator } = await open(
        (paid) => (server) =>
          paid.registerTool(server, "slow", {}, async (extra) => {
            extra.signal.addEventListener("abort", () => Deferred.doneUnsafe(gone, Effect.void))
            Deferred.doneUnsafe(started, Effect.void)
            await Effect.runPromise(Deferred.await(gone))
            return text("too late")
          }),
        { terms: { settle } }
      )
      const controller = new AbortController()
      const _meta = paymentFor(requestIn(await call(client, "slow")))
      const calling = client.callTool({ name: "slow", _meta }, undefined, { signal: controller.signal })
      await Effect.runPromise(Deferred.await(started))
      controller.abort()
      await calling.then(
        () => assert.fail("it was cancelled"),
        () => undefined
      )
      assert.strictEqual(await facilitator.nextEnd(), "failed")
      assert.deepStrictEqual(asks(facilitator), [...asked])
    })
  }

  it("before the tool runs leaves it alone", async () => {
    const settling = Deferred.makeUnsafe<void>()
    const moved = Deferred.makeUnsafe<void>()
    const { client, facilitator, seen } = await weather({
      says: {
        settle: () =>
          Effect.as(
            Effect.andThen(Deferred.succeed(settling, undefined), Deferred.await(moved)),
            FakeFacilitator.settled()
          )
      }
    })
    const controller = new AbortController()
    const args = { city: "Rome" }
    const _meta = paymentFor(requestIn(await call(client, "weather", args)))
    const calling = client.callTool({ name: "weather", arguments: args, _meta }, undefined, controller)
    await Effect.runPromise(Deferred.await(settling))
    controller.abort()
    await calling.catch(() => undefined)
    // A later call is answered after the cancellation was read.
    await call(client, "weather", args)
    Deferred.doneUnsafe(moved, Effect.void)
    assert.strictEqual(await facilitator.nextEnd(), "notRun")
    assert.deepStrictEqual(seen, [])
  })
})

describe("the types of a priced tool", () => {
  it("are those of the SDK: the arguments of its input schema, or none", async () => {
    const { client } = await open((paid) => (server) => {
      paid.registerTool(
        server,
        "shape",
        { inputSchema: { city: z.string(), days: z.number().default(1) } },
        (given, extra) => {
          expectTypeOf(given).toEqualTypeOf<{ city: string; days: number }>()
          expectTypeOf(extra).toEqualTypeOf<ToolExtra>()
          return text(`${given.city} ${given.days}`)
        }
      )
      paid.registerTool(server, "whole", { inputSchema: z.object({ city: z.string() }) }, (given) => {
        expectTypeOf(given).toEqualTypeOf<{ city: string }>()
        return text(given.city)
      })
      paid.registerTool(server, "none", {}, (extra) => {
        expectTypeOf(extra).toEqualTypeOf<ToolExtra>()
        return text(typeof extra.signal)
      })
      // @ts-expect-error a result is what the SDK takes for one
      paid.registerTool(server, "wrong", {}, () => ({ content: "text" }))
    })
    assert.deepStrictEqual((await buy(client, "shape", { city: "Rome" })).content, text("Rome 1").content)
    assert.deepStrictEqual((await buy(client, "whole", { city: "Rome" })).content, text("Rome").content)
    assert.deepStrictEqual((await buy(client, "none")).content, text("object").content)
  })
})

describe("a price", () => {
  it("may come from the arguments, and may be nothing", async () => {
    const { shop } = FakeTools.make()
    closing.push(shop.close)
    const { price: _, ...rest } = terms
    const seen: Array<unknown> = []
    const paid = shop.paid({
      ...rest,
      getPrice: ({ body, path }) => {
        seen.push([path, body])
        return JSON.stringify(body).includes("free") ? "$0" : "$0.05"
      }
    })
    await shop.ready()
    const { client, close } = await OpenTools.inMemory((server) => {
      paid.registerTool(server, "echo", { inputSchema: { say: z.string() } }, ({ say }) => text(say))
    })
    closing.push(close)
    assert.deepStrictEqual((await call(client, "echo", { say: "free" })).content, text("free").content)
    const { accepts } = requestIn(await call(client, "echo", { say: "dear" }))
    assert.include(accepts[0] as object, { amount: "50000" })
    assert.deepStrictEqual(seen, [
      ["/tools/echo", { say: "free" }],
      ["/tools/echo", { say: "dear" }]
    ])
  })

  it("that cannot be computed sells nothing, and offers nothing", async () => {
    const { client, close } = await (async () => {
      const { shop } = FakeTools.make()
      closing.push(shop.close)
      const { price: _, ...rest } = terms
      const paid = shop.paid({ ...rest, getPrice: () => "a lot" })
      await shop.ready()
      return OpenTools.inMemory((server) => void paid.registerTool(server, "echo", {}, () => text("away")))
    })()
    closing.push(close)
    const refusal = requestIn(await call(client, "echo"))
    assert.deepStrictEqual(refusal.accepts, [])
    assert.include(refusal as object, { detail: "price_unavailable" })
  })

  it("with a mistake is found at once", () => {
    const { shop } = FakeTools.make()
    closing.push(shop.close)
    assert.match(
      mistake(() => shop.paid({ ...terms, price: "1 cent" })),
      /price/
    )
    assert.match(
      mistake(() => shop.paid({ ...terms, network: "eip155:5" })),
      /no scheme serves|serves/
    )
  })
})

describe("a tool that is registered", () => {
  it("again, on the server of another session, is the same tool", async () => {
    const { client, facilitator } = await weather({ over: "overHttp" })
    const payment = paymentFor(requestIn(await call(client, "weather", { city: "Rome" })))
    await call(client, "weather", { city: "Rome" }, payment)
    await call(client, "weather", { city: "Rome" }, payment)
    const claims = facilitator.told.flatMap((told) => (told.ask === "finish" ? [] : [told.claim?.resource]))
    assert.strictEqual(claims.length, 2)
    assert.strictEqual(claims[0], claims[1])
  })

  it("stays priced when its callback is replaced", async () => {
    let runs = 0
    const { client } = await open((paid) => (server) => {
      const tool = paid.registerTool(server, "weather", {}, () => text("old"))
      tool.update({ callback: () => text(`new ${++runs}`) })
    })
    requestIn(await call(client, "weather"))
    assert.strictEqual(runs, 0)
    assert.deepStrictEqual((await buy(client, "weather")).content, text("new 1").content)
  })

  it.each([
    ["by its field", (tool, callback) => void (tool.handler = callback)],
    ["by its definition", (tool, callback) => void Object.assign(tool, { handler: callback })],
    [
      "twice",
      (tool, callback) => {
        tool.handler = callback
        const { handler } = tool
        tool.handler = handler
      }
    ],
    [
      "while it is switched off",
      (tool, callback) => {
        tool.disable()
        tool.handler = callback
        tool.enable()
      }
    ],
    ["under another name and back", (tool, callback) => tool.update({ name: "weather", callback })]
  ] as ReadonlyArray<readonly [string, (tool: RegisteredTool, callback: () => CallToolResult) => void]>)(
    "stays priced, once, when its callback is replaced %s",
    async (_, replace) => {
      let runs = 0
      const { client, facilitator } = await open((paid) => (server) => {
        replace(
          paid.registerTool(server, "weather", {}, () => text("old")),
          () => text(`new ${++runs}`)
        )
      })
      requestIn(await call(client, "weather"))
      assert.strictEqual(runs, 0)
      assert.deepStrictEqual((await buy(client, "weather")).content, text("new 1").content)
      assert.strictEqual(facilitator.told.filter(({ ask }) => ask === "settle").length, 1)
    }
  )

  it("keeps its price under another name", async () => {
    const { client } = await open((paid) => (server) => {
      paid.registerTool(server, "weather", {}, () => text("sun")).update({ name: "forecast" })
    })
    requestIn(await call(client, "forecast"))
    assert.deepStrictEqual((await buy(client, "forecast")).content, text("sun").content)
  })

  it("has its own price, also with the callback of another paid tool", async () => {
    const { client } = await open((paid) => (server) => {
      const one = paid.registerTool(server, "one", {}, () => text("one"))
      paid.registerTool(server, "two", {}, () => text("two")).handler = one.handler
    })
    const { resource } = requestIn(await call(client, "two")) as unknown as {
      readonly resource: { readonly url: string }
    }
    assert.strictEqual(resource.url, "mcp://tool/two")
    assert.deepStrictEqual((await buy(client, "two")).content, text("one").content)
  })

  it("cannot be given away as a task, or by what is no function", async () => {
    await open((paid) => (server) => {
      const old = text("old")
      const callback = () => old
      const tool = paid.registerTool(server, "weather", {}, callback)
      const task = Object.assign(() => text("new"), { createTask: () => text("task") })
      for (const given of [task, { createTask: () => text("task") }, null, undefined]) {
        assert.include(
          mistake(() => void (tool.handler = given as never)),
          "a paid tool is a function"
        )
      }
      assert.include(
        mistake(() => paid.registerTool(server, "task", {}, task as never)),
        "tasks cannot be sold"
      )
      assert.throws(() => Object.assign(tool.handler, { createTask: task }))
      Object.assign(callback, { createTask: task })
      assert.isFalse("createTask" in tool.handler)
      assert.throws(() => Object.defineProperty(tool, "handler", { value: () => text("free") }))
      delete (callback as { createTask?: unknown }).createTask
    })
  })

  it("is not answered where one without a price has taken its name", async () => {
    let runs = 0
    const { client } = await open((paid) => (server) => {
      paid.registerTool(server, "weather", {}, () => text("sun")).remove()
      server.registerTool("weather", {}, () => text(`free ${++runs}`))
    })
    const { content, isError } = await call(client, "weather")
    assert.isTrue(isError)
    assert.include(JSON.stringify(content), "replaced by one without a price")
    assert.notInclude(JSON.stringify(content), "free")
  })

  it("is sold again when it is registered again", async () => {
    const { client } = await open((paid) => (server) => {
      paid.registerTool(server, "weather", {}, () => text("old")).remove()
      paid.registerTool(server, "weather", {}, () => text("new"))
    })
    assert.deepStrictEqual((await buy(client, "weather")).content, text("new").content)
  })

  it("keeps the SDK's words for arguments that its schema refuses, and for a tool that is switched off", async () => {
    const { client, facilitator } = await open((paid) => (server) => {
      paid.registerTool(server, "weather", { inputSchema: { city: z.string() } }, () => text("sun"))
      paid.registerTool(server, "off", {}, () => text("off")).disable()
    })
    assert.include(JSON.stringify((await call(client, "weather", { city: 1 })).content), "Input validation error")
    assert.include(JSON.stringify((await call(client, "off")).content), "disabled")
    assert.deepStrictEqual(facilitator.told, [])
  })

  it("beside free ones leaves them free", async () => {
    const { client } = await open((paid) => (server) => {
      paid.registerTool(server, "dear", {}, () => text("dear"))
      server.registerTool("cheap", {}, () => text("cheap"))
    })
    assert.deepStrictEqual((await call(client, "cheap")).content, text("cheap").content)
  })

  it("is not run with arguments that are nested deeper than a payment can be bound to", async () => {
    let runs = 0
    const { client, facilitator } = await open(
      (paid) => (server) =>
        paid.registerTool(server, "deep", { inputSchema: { say: z.any() } }, () => text(`${++runs}`))
    )
    const { content } = await call(client, "deep", { say: JSON.parse("[".repeat(200) + "]".repeat(200)) })
    assert.include(JSON.stringify(content), "nothing was charged")
    assert.deepStrictEqual([runs, facilitator.told], [0, []])
  })
})
