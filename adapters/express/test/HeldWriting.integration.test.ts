/** The writing of a response that is held back: what its handler sees of it, and what leaves later. */
import { Readable } from "node:stream"

import type { RequestHandler } from "express"
import { afterEach, assert, describe, it } from "vitest"

import { close, modes, open } from "./HeldShop.ts"

afterEach(close)

const buy = async (mode: (typeof modes)[number], ...handlers: ReadonlyArray<RequestHandler>) => {
  const shop = await open((app, gate) => app.use(gate).get("/report/:id", ...handlers), mode)
  return { ...(await shop.get(await shop.payment())), transfers: shop.transfers() }
}

describe.each(modes)("a handler whose response is sold (%o)", (mode) => {
  it("may use its buffer again once it was called back", async () => {
    const buffer = Buffer.alloc(4)
    const { text } = await buy(mode, async (_, response) => {
      for (const letter of "abc") {
        buffer.fill(letter)
        // oxlint-disable-next-line no-await-in-loop -- one after another, as a handler with one buffer does it
        await new Promise((resolve) => response.write(buffer, resolve))
      }
      response.end()
    })
    assert.strictEqual(text, "aaaabbbbcccc")
  })

  it("may write it in more parts than Node sends at once", async () => {
    const parts = 270_000
    const { text } = await buy(mode, (_, response) => {
      Readable.from(Array.from({ length: parts }, () => "xy")).pipe(response)
    })
    assert.strictEqual(text.length, 2 * parts)
  })

  it("is called back after the end, and told of a length that is right", async () => {
    let called = 0
    const { status, text } = await buy(mode, (_, response) => {
      response.strictContentLength = true
      response.set("Content-Length", "3").end("\u00e4\u00f6\u00fc", "latin1", () => called++)
    })
    assert.strictEqual(status, 200)
    assert.strictEqual(text.length, 3)
    assert.strictEqual(called, 1)
  })

  it("gives other requests their turn while it writes without end", async () => {
    const over: { isOver?: boolean; left?: () => void } = {}
    const hasLeft = new Promise<void>((resolve) => {
      over.left = resolve
    })
    const shop = await open(
      (app, gate) =>
        app.use(gate).get("/report/:id", (_, response) => {
          const endless = Readable.from(
            (function* () {
              for (;;) {
                if (over.isOver === true) return
                yield "x".repeat(1_000)
              }
            })()
          )
          response.once("close", () => {
            over.isOver = true
            over.left?.()
          })
          endless.pipe(response)
        }),
      mode
    )
    const asking = shop.ask(await shop.payment())
    asking.on("error", () => undefined)
    // Another request is answered meanwhile.
    assert.strictEqual((await shop.get()).status, 402)
    asking.destroy()
    await hasLeft
  })
})

/** Keeps the end of a response back, as a session does that is stored first, and ends it then. */
const late: RequestHandler = (_, response, next) => {
  const end = response.end.bind(response)
  let isLater = false
  Reflect.set(response, "end", (chunk?: unknown) => {
    if (isLater) return end(chunk)
    isLater = true
    setImmediate(() => response.end(chunk))
    return response
  })
  next()
}

describe.each(modes)("middleware in front of the gate that ends the response later (%o)", (mode) => {
  it("ends it with its bytes", async () => {
    const shop = await open(
      (app, gate) => app.use(late, gate).get("/report/:id", (_, response) => void response.send("goods")),
      mode
    )
    const payment = await shop.payment()
    assert.deepInclude(await shop.get(payment), { status: 200, text: "goods" })
  })
})
