import type { IncomingMessage } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { Body, Controller, HttpCode, Post, Req } from "@nestjs/common"

import { Paid } from "../src/payment.decorator.ts"
import { hosts, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

const bound = { ...terms, bind: "body" } as const

/** Number of further executions that fail. */
let failuresLeft = 0

const printed = (page: unknown) => {
  if (failuresLeft-- > 0) throw new Error("the printer broke, as the test asked")
  return { printed: page }
}

@Controller()
class PrintController {
  @Post("parsed")
  @HttpCode(200)
  @Paid(bound)
  parsed(@Body() page: unknown) {
    return printed(page)
  }

  @Post("unread")
  @HttpCode(200)
  @Paid(bound)
  async unread(@Req() request: IncomingMessage) {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array))
    return printed(Buffer.concat(chunks).toString())
  }

  @Post("loose")
  @HttpCode(200)
  @Paid(terms)
  loose(@Body() page: unknown) {
    return printed(page)
  }
}

const parts = { controllers: [PrintController] }

const json = (nonce: string, page: number, type = "application/json"): RequestInit => ({
  method: "POST",
  headers: { "X-Payment": payment(nonce), "Content-Type": type },
  body: JSON.stringify({ page })
})

const octets = (page: number) => json("n1", page, "application/octet-stream")

describe.each(hosts)("a payment that is bound to the body, on $name", (host) => {
  it("pays for the body it came with, and for no other", async () => {
    await using app = await start(host, parts)
    failuresLeft = 1
    assert.strictEqual((await app.fetch("/parsed", json("n1", 1))).status, 500)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.strictEqual((await app.fetch("/parsed", json("n1", 2))).status, 409)
    const served = await app.fetch("/parsed", json("n1", 1))
    assert.deepStrictEqual(await served.json(), { printed: { page: 1 } })
  })

  it("is another matter where the route does not bind it", async () => {
    await using app = await start(host, parts)
    failuresLeft = 1
    assert.strictEqual((await app.fetch("/loose", json("n1", 1))).status, 500)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.strictEqual((await app.fetch("/loose", json("n1", 2))).status, 200)
  })
})

describe("a body that no parser has read, on Express", () => {
  const [express] = hosts
  assert(express !== undefined)

  it("is read by the gate, and once more by the handler", async () => {
    await using app = await start(express, parts)
    failuresLeft = 1
    assert.strictEqual((await app.fetch("/unread", octets(1))).status, 500)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.strictEqual((await app.fetch("/unread", octets(2))).status, 409)
    assert.deepStrictEqual(await (await app.fetch("/unread", octets(1))).json(), { printed: '{"page":1}' })
  })

  it("is refused beyond a mebibyte, and nothing is asked for", async () => {
    await using app = await start(express, parts)
    const body = new Uint8Array(1024 * 1024 + 1)
    const response = await app.fetch("/unread", {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body
    })
    assert.strictEqual(response.status, 413)
    assert.deepStrictEqual(app.facilitator.settled, [])
  })
})
