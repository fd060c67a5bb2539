import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js"
import { Binding } from "@pontage/core"
import { TestScheme } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import { afterEach, assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { sellTools } from "../src/index.ts"
import * as FakeTools from "./FakeTools.ts"
import * as OpenTools from "./OpenTools.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const open = async (isError: boolean) => {
  const { ledger, options, terms, transfers } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const shop = sellTools(options)
  let runs = 0
  const paid = shop.paid({ ...terms, repeat: "same" })
  await shop.ready()
  const { client, close } = await OpenTools.inMemory((server) =>
    paid.registerTool(server, "dice", { description: "A random number" }, () => {
      runs++
      return { content: [{ type: "text", text: `${Math.random()}` }], ...(isError && { isError }) }
    })
  )
  closing.push(shop.close, close)
  const call = (meta?: Record<string, unknown>) => FakeTools.call(client, "dice", {}, meta)
  const pay = async () => {
    const request = FakeTools.requestIn(await call())
    const [offer] = request.accepts as unknown as ReadonlyArray<
      { readonly amount: string; readonly extra: { readonly challenge: string } } & Record<string, unknown>
    >
    assert(offer !== undefined)
    const { payload } = await Effect.runPromise(
      Effect.gen(function* () {
        return yield* TestScheme.client("acct-alice").sign({
          requirements: { ...offer, maxAmountRequired: offer.amount } as never,
          asset: TestScheme.asset,
          validAfter: 0,
          validBefore: Math.floor(Date.now() / 1000) + 60,
          binding: yield* Binding.make(offer.extra.challenge)
        })
      })
    )
    return { "x402/payment": { x402Version: 2, payload, resource: request.resource, accepted: offer } }
  }
  return { call, pay, runs: () => runs, transfers }
}

describe("a tool's result", () => {
  it("comes again for the same payment, with its receipt and without a run", async () => {
    const { call, pay, runs, transfers } = await open(false)
    const payment = await pay()
    const first = await call(payment)
    const again = await call(payment)
    assert.deepStrictEqual(again, first)
    assert.isDefined(CallToolResultSchema.parse(again)._meta?.["x402/payment-response"])
    assert.notDeepEqual(await call(await pay()), first)
    assert.strictEqual(runs(), 2)
    assert.strictEqual(transfers(), 2n)
  })

  it("that refuses the call does not come again: the payment is good for another call", async () => {
    const { call, pay, runs } = await open(true)
    const payment = await pay()
    await call(payment)
    await call(payment)
    assert.strictEqual(runs(), 2)
  })
})
