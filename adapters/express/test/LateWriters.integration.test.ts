/**
 * Handlers and error handlers that go on after they have ended a response, or end it wrongly: the buyer gets what it gets without the
 * gate, whether the response is held back or not.
 */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"

import type { ErrorRequestHandler, Express, RequestHandler } from "express"
import { afterEach, assert, describe, it } from "vitest"

import { close, modes, open } from "./HeldShop.ts"

afterEach(close)

const goods = JSON.stringify({ goods: "x".repeat(50) })

// As an application without types does it; the error that Node emits on writing after the end is not a matter of this test.
const late: ReadonlyArray<readonly [name: string, add: (app: Express) => void]> = [
  [
    "throws, and the default error handler answers",
    (app) =>
      app.get("/report/:id", (_, response) => {
        response.type("json").send(goods)
        throw new Error("late")
      })
  ],
  [
    "throws, and an error handler answers without a look at the response",
    (app) =>
      app
        .get("/report/:id", (_, response) => {
          response.type("json").send(goods)
          throw new Error("late")
        })
        .use(((_error, _request, response, _next) => {
          response.statusCode = 500
          response.once("error", () => undefined).end("{}")
        }) satisfies ErrorRequestHandler)
  ],
  [
    "goes on to a catch-all 404",
    (app) =>
      app
        .get("/report/:id", (_, response, next) => {
          response.type("json").send(goods)
          next()
        })
        .use((_request, response) => {
          response.statusCode = 404
          response.once("error", () => undefined).end("{}")
        })
  ],
  [
    "sets another length and another status",
    (app) =>
      app.get("/report/:id", (_, response) => {
        response.type("json").send(goods)
        response.statusCode = 500
        try {
          response.setHeader("Content-Length", "3")
        } catch {
          // As without the gate: the head has left.
        }
      })
  ]
]

describe.each(late)("a handler that sends the goods, then %s", (_, add) => {
  it("sells them as it serves them without the gate", async () => {
    const { get } = await open(add)
    assert.deepInclude(await get(), { status: 200, text: goods })
  })

  it.each(modes)("sells them once (%o)", async (mode) => {
    const shop = await open((app, gate) => add(app.use(gate)), mode)
    const payment = await shop.payment()
    assert.deepInclude(await shop.get(payment), { status: 200, text: goods })
    const again = await shop.getOnceThere(payment)
    if ("repeat" in mode) assert.deepInclude(again, { status: 200, text: goods })
    else assert.strictEqual(again.status, 409)
    // Another resource of the route is not served for the same payment either.
    assert.notStrictEqual((await shop.getOnceThere(payment, "/report/2")).status, 200)
    assert.strictEqual(shop.transfers(), 1n)
  })
})

const wrong: ReadonlyArray<readonly [name: string, write: RequestHandler]> = [
  [
    "a status message that no head can have",
    (_, response) => {
      response.statusMessage = "Found: 3 \u2713"
      response.json({})
    }
  ],
  ["a status that is none", (_, response) => void response.writeHead(0).end("x")],
  ["a number as its body", (_, response) => void response.end(Number("12345"))],
  ["an object as a part of its body", (_, response) => void response.write({})],
  [
    "another length than it announces, and wants to keep to it",
    (_, response) => {
      response.strictContentLength = true
      response.writeHead(200, { "Content-Length": 5 })
      response.end("four")
    }
  ]
]

describe.each(wrong)("a handler that writes %s", (_, handler) => {
  it.each(
    modes.filter((mode) => !("repeat" in mode) && (mode.settle === "after-handler" || mode.receipt === "response"))
  )("fails as its own error, ends nothing else, and is owed (%o)", async (mode) => {
    const rejected: Array<unknown> = []
    const note = (error: unknown) => void rejected.push(error)
    process.on("unhandledRejection", note)
    const shop = await open((app, gate) => app.use(gate).get("/report/:id", handler), mode)
    const payment = await shop.payment()
    const got = await shop.get(payment).catch(() => undefined)
    assert.notStrictEqual(got?.status, 200)
    const again = await shop.getOnceThere(payment).catch(() => undefined)
    assert.notStrictEqual(again?.status, 409)
    assert.strictEqual(shop.transfers(), mode.settle === "after-handler" ? 0n : 1n)
    process.off("unhandledRejection", note)
    assert.deepStrictEqual(rejected, [])
  })
})

/** As undici does with a request that it has sent on as a body. */
const forgetting: RequestHandler = (asked, response) => {
  Reflect.set(asked, "socket", null)
  response.send("goods")
}

it.each(modes)(
  "a request that its handler has sent on by undici, which takes its socket away, is sold (%o)",
  async (mode) => {
    const shop = await open((app, gate) => app.use(gate).get("/report/:id", forgetting), mode)
    const payment = await shop.payment()
    assert.strictEqual((await shop.get(payment)).text, "goods")
    assert.strictEqual((await shop.getOnceThere(payment)).status, "repeat" in mode ? 200 : 409)
    assert.strictEqual(shop.transfers(), 1n)
  }
)

describe('a response that may come again (`repeat: "same"`)', () => {
  it("is not told as used while its handler still works and its client has left with most of it", async () => {
    const work: { finish?: () => void } = {}
    const shop = await open(
      (app, gate) =>
        app.use(gate).get("/report/:id", (_, response) => {
          response.set("Content-Length", "3000").write("a".repeat(2_000))
          work.finish = () => void response.end("b".repeat(1_000))
        }),
      { repeat: "same" }
    )
    const payment = await shop.payment()
    const asking = shop.ask(payment)
    const [response] = (await once(asking, "response")) as [IncomingMessage]
    await once(response, "data")
    const closed = new Promise<void>((resolve) => response.once("close", () => resolve()))
    response.on("error", () => undefined)
    asking.on("error", () => undefined).destroy()
    await closed
    assert.include((await shop.get(payment)).text, "in_flight")
    assert.include((await shop.get(payment)).text, "in_flight")
    work.finish?.()
    assert.deepInclude(await shop.getOnceThere(payment), {
      status: 200,
      text: "a".repeat(2_000) + "b".repeat(1_000)
    })
  })

  it("is owed at once where its handler breaks it off", async () => {
    let runs = 0
    const shop = await open(
      (app, gate) =>
        app.use(gate).get("/report/:id", (_, response) => {
          runs++
          if (runs === 1) response.destroy()
          else response.send("goods")
        }),
      { repeat: "same" }
    )
    const payment = await shop.payment()
    assert.isUndefined(await shop.get(payment).catch(() => undefined))
    assert.strictEqual((await shop.getOnceThere(payment)).text, "goods")
    assert.strictEqual(shop.transfers(), 1n)
  })

  it.each(["before-handler", "after-handler"])(
    "has no cookies of a session in front of the gate (%s)",
    async (settle) => {
      let sessions = 0
      const session: RequestHandler = (_, response, next) => {
        const write = response.writeHead.bind(response)
        response.setHeader("Set-Cookie", `seen=${++sessions}`)
        Reflect.set(response, "writeHead", (...given: Parameters<typeof write>) => {
          if (!response.headersSent) response.appendHeader("Set-Cookie", `session=${sessions}`)
          return write(...given)
        })
        next()
      }
      const shop = await open(
        (app, gate) =>
          app
            .use(session, gate)
            .get("/report/:id", (_, response) => void response.append("Set-Cookie", "own=1").send("goods")),
        { repeat: "same", settle }
      )
      const payment = await shop.payment()
      const first = await shop.get(payment)
      assert.deepStrictEqual(first.cookies, [`seen=${sessions}`, "own=1", `session=${sessions}`])
      const again = await shop.getOnceThere(payment)
      assert.strictEqual(again.text, "goods")
      assert.deepStrictEqual(again.cookies, ["own=1", `session=${sessions}`])
    }
  )
})
