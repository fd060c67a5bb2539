/** Responses of Hono's handlers that are none, that Node's response has got already, or that no `Response` can be made of. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import { type Context, Hono, type MiddlewareHandler } from "hono"
import { setCookie } from "hono/cookie"
import { afterEach, assert, describe, it, vi } from "vitest"

import { paymentMiddleware } from "../src/index.ts"
import * as HonoShop from "./HonoShop.ts"

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface Sale {
  readonly settle?: "before-handler" | "after-handler"
  readonly receipt?: "payment" | "response"
}

const sales: ReadonlyArray<Required<Sale>> = (["before-handler", "after-handler"] as const).flatMap((settle) =>
  (["payment", "response"] as const).map((receipt) => ({ settle, receipt }))
)

/** The middleware around the gate, and a list of the errors that come to Hono. */
interface Surroundings {
  readonly front?: ReadonlyArray<MiddlewareHandler>
  readonly behind?: ReadonlyArray<MiddlewareHandler>
  readonly errors?: Array<Error>
}

const gateOf =
  (sale: Sale): HonoShop.Gate =>
  (options, terms) =>
    paymentMiddleware({ ...options, routes: { "GET /report": { ...terms, ...sale } } })

/** Opens an application that sells `/report`. */
const open = async (
  sale: Sale,
  handler: MiddlewareHandler,
  { behind = [], errors = [], front = [] }: Surroundings = {}
) => {
  const app = new Hono()
  app.onError((error, context) => {
    errors.push(error)
    return context.text(error.message, 500)
  })
  const shop = await HonoShop.open(app, gateOf(sale), (gate) => {
    app.use(...front, gate, ...behind)
    app.get("/report", handler)
  })
  closing.push(shop.close)
  return shop
}

describe.each(["before-handler", "after-handler"] as const)("a route whose response is none (%s)", (settle) => {
  const moved = settle === "before-handler" ? 1n : 0n

  it("is Hono's error if the handler forgets to return, and the payment buys it again", async () => {
    const handler = { isRepaired: false }
    const { askOnceThere, payment, transfers } = await open({ settle }, (context) => {
      const response = context.text("It will rain.")
      return Promise.resolve(handler.isRepaired ? response : undefined)
    })
    const headers = await payment()
    const first = await askOnceThere({ headers })
    assert.match(first.text, /^Context is not finalized\. Did you forget to return a Response/)
    assert.strictEqual(first.status, 500)
    assert.strictEqual(transfers(), moved)
    handler.isRepaired = true
    assert.deepInclude(await askOnceThere({ headers }), { status: 200, text: "It will rain." })
    assert.strictEqual(transfers(), 1n)
  })

  it("is Hono's error if middleware does not await the handler, which sends nothing later", async () => {
    const made: Array<Promise<void>> = []
    const { askOnceThere, payment, transfers } = await open(
      { settle },
      async (context) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        made.push(promise)
        await new Promise(setImmediate)
        setImmediate(resolve)
        return context.text("It will rain.")
      },
      {
        front: [
          async (_, next) => {
            await next()
            await Promise.all(made)
          }
        ],
        behind: [
          (_, next) => {
            void next()
            return Promise.resolve()
          }
        ]
      }
    )
    const headers = await payment()
    const first = await askOnceThere({ headers })
    assert.match(first.text, /^Context is not finalized/)
    assert.strictEqual(first.status, 500)
    assert.strictEqual(transfers(), moved)
  })
})

/** Writes it in parts, the last one once the gate has it. */
const writing =
  (status: () => number): MiddlewareHandler =>
  (context) => {
    const { outgoing } = context.env
    outgoing.writeHead(status(), { "Content-Type": "text/plain" })
    outgoing.write("It will ")
    setImmediate(() => outgoing.end("rain."))
    return Promise.resolve(RESPONSE_ALREADY_SENT)
  }

describe("a response that the handler has written by Node's own means", () => {
  it("leaves as it is, and is paid for", async () => {
    const { askOnceThere, payment, transfers } = await open(
      {},
      writing(() => 200)
    )
    const headers = await payment()
    assert.deepInclude(await askOnceThere({ headers }), { status: 200, text: "It will rain.", isWhole: true })
    assert.strictEqual((await askOnceThere({ headers })).status, 409)
    assert.strictEqual(transfers(), 1n)
  })

  it("is owed again if its status says that it failed", async () => {
    const statuses = [500, 200]
    const { askOnceThere, payment, transfers } = await open(
      {},
      writing(() => statuses.shift() ?? 404)
    )
    const headers = await payment()
    assert.deepInclude(await askOnceThere({ headers }), { status: 500, text: "It will rain." })
    assert.deepInclude(await askOnceThere({ headers }), { status: 200, text: "It will rain." })
    assert.strictEqual(transfers(), 1n)
  })

  it("is owed again if its client has left", async () => {
    const runs = [true, false]
    const whole = writing(() => 200)
    const { askOnceThere, payment, transfers } = await open({}, async (context, next) => {
      if (runs.shift() !== true) return whole(context, next)
      const left = Promise.withResolvers<void>()
      context.req.raw.signal.addEventListener("abort", () => left.resolve())
      context.env.outgoing.destroy()
      await left.promise
      return RESPONSE_ALREADY_SENT
    })
    const headers = await payment()
    assert.isFalse((await askOnceThere({ headers })).isWhole)
    assert.deepInclude(await askOnceThere({ headers }), { status: 200, text: "It will rain." })
    assert.strictEqual(transfers(), 1n)
  })

  it.each(sales.filter(({ receipt, settle }) => settle === "after-handler" || receipt === "response"))(
    "cannot be held back: $settle, receipt of the $receipt",
    async (sale) => {
      // Hono's server of Node logs that it cannot send the error any more.
      vi.spyOn(console, "error").mockImplementation(() => undefined)
      const errors: Array<Error> = []
      const { askOnceThere, payment, transfers } = await open(
        sale,
        writing(() => 200),
        { errors }
      )
      const headers = await payment()
      await askOnceThere({ headers })
      await askOnceThere({ headers })
      assert.strictEqual(transfers(), sale.settle === "after-handler" ? 0n : 1n)
      assert.deepStrictEqual(
        errors.map(({ name }) => name),
        ["NotHeld", "NotHeld"]
      )
      assert.match(errors[0]?.message ?? "", /the handler has sent its response itself.*return it as a Response/)
    }
  )
})

const bodiless: ReadonlyArray<readonly [string, number, (context: Context) => Response]> = [
  ["a text of status 204", 204, (context) => context.text("", 204 as 200)],
  ["JSON of status 204", 204, (context) => context.json({}, 204 as 200)],
  ["an empty text of status 204", 204, () => new Response("", { status: 204 })],
  ["a body of status 304", 304, (context) => context.body("", 304 as 200)]
]

describe.each(bodiless)("%s", (_, status, make) => {
  it.each(sales)("leaves without a body, with its receipt ($settle, receipt of the $receipt)", async (sale) => {
    const { askOnceThere, payment, transfers } = await open(sale, (context) => Promise.resolve(make(context)))
    const headers = await payment()
    assert.deepInclude(await askOnceThere({ headers }), { status, text: "", hasReceipt: true })
    assert.strictEqual((await askOnceThere({ headers })).status, 409)
    assert.strictEqual(transfers(), 1n)
  })
})

const cookies: ReadonlyArray<readonly [string, MiddlewareHandler]> = [
  ["the last argument", (context) => Promise.resolve(context.json({}, 200, { "Set-Cookie": "b=2" }))],
  ["a Response", () => Promise.resolve(new Response("{}", { headers: { "Set-Cookie": "b=2" } }))]
]

const fronts: ReadonlyArray<readonly [string, MiddlewareHandler]> = [
  ["no header", (_, next) => next()],
  [
    "a header of the context",
    (context, next) => {
      context.header("X-Front", "1")
      return next()
    }
  ],
  [
    "a header of the response",
    (context, next) => {
      context.res.headers.set("X-Front", "1")
      return next()
    }
  ]
]

describe.each(cookies)("a cookie by %s", (_, answer) => {
  const handler: MiddlewareHandler = (context, next) => {
    setCookie(context, "a", "1")
    return answer(context, next)
  }

  it.each(fronts.flatMap(([name, front]) => sales.map(({ receipt, settle }) => ({ receipt, settle, name, front }))))(
    "leaves as without the gate, with $name in front of it ($settle, receipt of the $receipt)",
    async ({ front, receipt, settle }) => {
      const bare = await HonoShop.serve(new Hono().use(front).get("/report", handler))
      closing.push(bare.close)
      const { askOnceThere, payment } = await open({ settle, receipt }, handler, { front: [front] })
      const { cookies: set, front: first, status } = await bare.ask()
      assert.deepInclude(await askOnceThere({ headers: await payment() }), { cookies: set, front: first, status })
    }
  )
})
