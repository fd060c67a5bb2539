/** The arguments of a paid call: those that the wire carries, as without a payment. */
import { afterEach, assert, describe, it } from "vitest"
import { z } from "zod/v4"

import * as LedgerTools from "./LedgerTools.ts"
import * as OpenTools from "./OpenTools.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

class Money {
  readonly amount: number
  constructor(amount: number) {
    this.amount = amount
  }
  toJSON() {
    return `${this.amount} EUR`
  }
}

type Over = typeof OpenTools.inMemory | typeof OpenTools.overHttp

const open = async (over: Over) => {
  const { ledger, shop } = LedgerTools.make()
  const paid = shop.paid(LedgerTools.terms)
  await shop.ready()
  const ran: Array<unknown> = []
  const run = ({ value }: { readonly value?: unknown }) => {
    ran.push(value)
    return { content: [] }
  }
  const config = { inputSchema: { value: z.any() } }
  const { client, close } = await over((server) => {
    paid.registerTool(server, "paid", config, run)
    server.registerTool("free", config, run)
  })
  closing.push(shop.close, close)
  const { tools } = LedgerTools.pay(client)
  return {
    call: (name: string, value: unknown) => tools.callTool({ name, arguments: { value } }),
    ran,
    transfers: () => ledger.transfers.length
  }
}

describe("the arguments of a paid call", () => {
  const given: Readonly<Record<string, readonly [unknown, unknown]>> = {
    "a class that writes itself": [new Money(5), "5 EUR"],
    "a URL": [new URL("https://a.example/b"), "https://a.example/b"],
    "a date": [new Date(0), "1970-01-01T00:00:00.000Z"],
    "a map": [new Map([["a", 1]]), {}]
  }
  for (const [what, [value, carried]] of Object.entries(given)) {
    it(`reach the tool as JSON has them: ${what}`, async () => {
      const { call, ran, transfers } = await open(OpenTools.overHttp)
      await call("free", value)
      assert.isUndefined((await call("paid", value)).isError)
      assert.deepStrictEqual(ran, [carried, carried])
      assert.strictEqual(transfers(), 1)
    })
  }

  it("are bound as JSON has them in memory too", async () => {
    const { call, ran, transfers } = await open(OpenTools.inMemory)
    assert.isUndefined((await call("paid", new Money(5))).isError)
    assert.deepStrictEqual(ran, ["5 EUR"])
    assert.strictEqual(transfers(), 1)
  })

  it("that JSON cannot write are not paid for, and reach a free tool in memory", async () => {
    const { call, ran, transfers } = await open(OpenTools.inMemory)
    await call("free", Money)
    await call("free", 1n)
    assert.deepStrictEqual(ran, [Money, 1n])
    await LedgerTools.rejection(call("paid", 1n))
    assert.deepStrictEqual([ran.length, transfers()], [2, 0])
  })
})
