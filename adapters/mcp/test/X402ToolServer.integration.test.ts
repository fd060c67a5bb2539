/**
 * Paying servers that are none of ours: hand-written over the SDK's bare server, from the text of the transport's
 * specification and from what its published server does.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
// oxlint-disable-next-line no-deprecated -- the message is checked before the SDK's own server reads it
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import type { Settlement } from "@pontage/core"
import { TestScheme } from "@pontage/core/testing"
import { afterEach, assert, describe, it } from "vitest"

import { receiptOf } from "../src/index.ts"
import * as LedgerTools from "./LedgerTools.ts"

const { rejection } = LedgerTools

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const offer = {
  scheme: "exact",
  network: "ledger:test",
  amount: "10000",
  asset: TestScheme.asset.address,
  payTo: "acct-shop",
  maxTimeoutSeconds: 60,
  extra: { name: "TUSD", version: "1", novelty: { of: [1, null] } }
}

const asked = {
  x402Version: 2,
  error: "Payment required to access this tool",
  resource: { url: "mcp://tool/analysis", description: "An analysis", mimeType: "application/json" },
  accepts: [offer],
  extensions: { bazaar: { info: { toolName: "analysis" } } }
}

const outputSchema = { type: "object" as const, properties: { advice: { type: "string" } }, required: ["advice"] }

const refusal = (changes: object = {}): CallToolResult => {
  const structuredContent = { ...asked, ...changes }
  return { isError: true, structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }] }
}

const receipt = { success: true, transaction: "0x1234", network: "ledger:test", payer: LedgerTools.payer }

const served: CallToolResult = {
  content: [{ type: "text", text: "buy" }],
  _meta: { "x402/payment-response": receipt }
}

/** Answers what carries a payment by `answer`, and asks for one otherwise. */
const open = async (answer: (paid: number) => CallToolResult, unpaid: () => CallToolResult = refusal) => {
  const payments: Array<unknown> = []
  const receipts: Array<Settlement.Settlement> = []
  const server = new Server({ name: "foreign", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, ({ params }: CallToolRequest) => {
    const payment = params._meta?.["x402/payment"]
    if (payment === undefined) return unpaid()
    return answer(payments.push(payment))
  })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: "analysis", inputSchema: { type: "object" }, outputSchema }]
  }))
  const [here, there] = InMemoryTransport.createLinkedPair()
  await server.connect(there)
  const client = new Client({ name: "test", version: "1.0.0" })
  await client.connect(here)
  closing.push(() => client.close())
  const { signed, tools } = LedgerTools.pay(client, { onPayment: (one) => void receipts.push(one) })
  return {
    client,
    payments,
    receipts,
    signed,
    tools,
    call: () => tools.callTool({ name: "analysis", arguments: { ticker: "A" } })
  }
}

describe("a server of the transport", () => {
  it("is paid with its own offer repeated as it came, as an object", async () => {
    const { call, payments, receipts } = await open(() => served)
    const result = await call()
    assert.deepStrictEqual(result.content, served.content)
    assert.deepStrictEqual<unknown>(receiptOf(result), receipt)
    const [payment] = payments as ReadonlyArray<Record<string, unknown>>
    assert.deepStrictEqual(Object.keys(payment ?? {}), ["x402Version", "payload", "extensions", "resource", "accepted"])
    const { payload, ...said } = payment ?? {}
    const { extensions, resource } = asked
    assert.deepStrictEqual(said, { x402Version: 2, accepted: offer, resource, extensions })
    assert.include(payload as object, { payer: LedgerTools.payer, amount: "10000" })
    // The payer adds the fields that its receipts lack.
    assert.include(receipts[0], { amount: "10000", transaction: "0x1234" })
    assert.match(receipts[0]?.paymentId ?? "", /^pay_/)
  })

  it("may ask in text alone", async () => {
    const { content } = refusal()
    const { call, payments } = await open(
      () => served,
      () => ({ isError: true, content })
    )
    await call()
    assert.strictEqual(payments.length, 1)
  })

  it("that gives its result away without a settlement is taken at its word: nothing was paid", async () => {
    const given = { ...served, _meta: { "x402/payment-response": { ...receipt, success: false, transaction: "" } } }
    const { call, receipts } = await open(() => given)
    const result = await call()
    assert.deepStrictEqual(result.content, served.content)
    assert.isUndefined(receiptOf(result))
    assert.deepStrictEqual(receipts, [])
  })

  it("that could not settle is sent the same payment until it is known, never another", async () => {
    let works = false
    const { call, payments, signed } = await open(() =>
      works ? served : refusal({ error: "Payment settlement failed: timeout" })
    )
    assert.include(await rejection(call()), { _tag: "SettlementPending" })
    assert.isAbove(payments.length, 2)
    works = true
    assert.deepStrictEqual((await call()).content, served.content)
    assert.strictEqual(new Set(payments.map((one) => JSON.stringify(one))).size, 1)
    assert.strictEqual(signed.length, 1)
  })

  it("that says a clear no is asked once", async () => {
    const { call, payments } = await open(() => refusal({ error: "insufficient_funds" }))
    assert.include(await rejection(call()), { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" })
    assert.strictEqual(payments.length, 1)
  })

  it("whose tool fails without a receipt has the failure passed on, and the payment kept for the next call", async () => {
    const failed: CallToolResult = { isError: true, content: [{ type: "text", text: "no such ticker" }] }
    const { call, payments, signed } = await open((paid) => (paid === 1 ? failed : served))
    assert.deepStrictEqual((await call()).content, failed.content)
    assert.deepStrictEqual((await call()).content, served.content)
    assert.deepStrictEqual(payments[0], payments[1])
    assert.strictEqual(signed.length, 1)
  })

  it("whose result violates its output schema was paid all the same, and the SDK's error is the caller's", async () => {
    const wrong = { ...served, structuredContent: { advice: 7 } }
    const { call, client, payments, receipts, tools } = await open(() => wrong)
    await client.listTools()
    assert.match((await rejection(call())).message, /does not match the tool's output schema/)
    assert.deepStrictEqual([payments.length, receipts.length], [1, 1])
    const { entry } = await tools.status(receipts[0]?.paymentId ?? "")
    assert.strictEqual(entry?.state, "settled")
  })

  it("that demands a payment in an unreadable form is not paid", async () => {
    const { call, payments } = await open(
      () => served,
      () => refusal({ error: { code: 402 } })
    )
    assert.include(await rejection(call()), { _tag: "ValidationError", reason: "malformed" })
    assert.deepStrictEqual(payments, [])
  })

  it("that asks by another version is passed through", async () => {
    const { call, payments } = await open(
      () => served,
      () => refusal({ x402Version: 1 })
    )
    assert.isTrue((await call()).isError)
    assert.deepStrictEqual(payments, [])
  })
})
