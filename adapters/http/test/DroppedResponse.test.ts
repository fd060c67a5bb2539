/** An application around the gate that answers by itself, and drops the paid response unread. */
import { assert, describe, it } from "vitest"

import * as Collection from "../../../core/test/server/host/Collection.ts"
import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentHandler } from "../src/index.ts"

const make = {
  "in memory": () => new Response("It will rain."),
  "that is streamed": () => new Response(new Blob(["It will rain."]).stream())
}

const orders = [
  { settle: "before-handler", receipt: "payment" },
  { settle: "before-handler", receipt: "response" },
  { settle: "after-handler", receipt: "payment" }
] as const

describe.each(orders)("a paid response that is dropped ($settle, receipt: $receipt)", (order) => {
  it.for(["in memory", "that is streamed"] as const)("is owed again, with a body %s", async (kind, { signal }) => {
    const { ledger, options, terms, transfers } = LedgerSeller.open()
    ledger.deposit("acct-buyer", 1_000_000n)
    const receipts = {
      address: "0x1111111111111111111111111111111111111111",
      signTypedData: () => Promise.resolve(`0x${"ab".repeat(65)}` as const)
    } as const
    const routes = { "GET /report": { ...terms, ...order } }
    const sold = paymentHandler({ ...options, receipts, routes }, (_, context: object) =>
      "response" in context ? assert.fail("the context has its response too early") : make[kind]()
    )
    await sold.ready()
    let isDown = false
    const serve = async (headers: Readonly<Record<string, string>> = {}) => {
      // A framework's context, which knows the last response.
      const context: { response?: Response } = {}
      const response = await sold(new Request("https://shop.example/report", { headers }), context)
      context.response = response
      return isDown ? new Response("maintenance", { status: 503 }) : response
    }
    const payment = await LedgerSeller.payFor("acct-buyer", await (await serve()).text())
    isDown = true
    assert.strictEqual((await serve(payment)).status, 503)
    isDown = false
    let again: Response | undefined
    const isOwed = async () => {
      again = await serve(payment)
      return again.status !== 409
    }
    await Collection.until(isOwed, signal)
    assert.strictEqual(again?.status, 200)
    assert.strictEqual(await again?.text(), "It will rain.")
    assert.strictEqual(transfers(), 1n)
    await sold.close()
  })
})
