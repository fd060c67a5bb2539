/** Results that the SDK's server rejects or JSON cannot write: their caller gets none, so they are no product. */
import { createHash } from "node:crypto"

import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { CanonicalText, MetaPayer } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { afterEach, assert, describe, it } from "vitest"

import { receiptOf, sellTools, type ToolTerms } from "../src/index.ts"
import * as LedgerTools from "./LedgerTools.ts"
import * as OpenTools from "./OpenTools.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

/** Sells a tool that returns these results in turn, as untyped code does. */
const sell = async (more: Partial<ToolTerms>, ...results: ReadonlyArray<unknown>) => {
  const { ledger, options } = LedgerTools.make()
  const shop = sellTools({ ...options, receipts: exactEvm.receiptSigner(`0x${"11".repeat(32)}`) })
  const paid = shop.paid({ ...LedgerTools.terms, ...more } as ToolTerms)
  await shop.ready()
  let runs = 0
  const { client, close } = await OpenTools.overHttp((server) =>
    paid.registerTool(server, "chart", {}, () => results[runs++] as CallToolResult)
  )
  closing.push(shop.close, close)
  const { signed, tools } = LedgerTools.pay(client)
  return {
    call: () => tools.callTool({ name: "chart" }),
    counts: () => ({ runs, signed: signed.length, transfers: ledger.transfers.length })
  }
}

const circle: Record<string, unknown> = {}
circle["circle"] = circle

/** Is written once, and never again. */
const once = () => {
  let written = 0
  return {
    toJSON: () => {
      if (written++ === 0) return 1
      throw new Error("written twice")
    }
  }
}

const content = [{ type: "text", text: "chart" }]
const good = { content }
const bad: Readonly<Record<string, () => unknown>> = {
  "an image with a data URL": () => ({
    content: [{ type: "image", data: "data:image/png;base64,iVBORw0KGgo=", mimeType: "image/png" }]
  }),
  "a number as a text": () => ({ content: [{ type: "text", text: 42 }] }),
  "a list as its structured content": () => ({ content, structuredContent: [1, 2] }),
  "a BigInt": () => ({ content, structuredContent: { a: 1n } }),
  "a circle": () => ({ content, structuredContent: circle })
}

const modes: Readonly<Record<string, Partial<ToolTerms>>> = {
  "paid first": {},
  repeated: { repeat: "same" },
  receipted: { receipt: "response" },
  "that charges for refusals": { refused: "charged" }
}

describe("a result that cannot be sent", () => {
  for (const [what, make] of Object.entries(bad)) {
    for (const [mode, more] of Object.entries(modes)) {
      it(`with ${what} leaves the payment good for another call, ${mode}`, async () => {
        const { call, counts } = await sell(more, make(), good)
        const failed = await call()
        assert.isTrue(failed.isError)
        assert.isDefined(receiptOf(failed))
        assert.deepStrictEqual<unknown>((await call()).content, content)
        assert.deepStrictEqual(counts(), { runs: 2, signed: 1, transfers: 1 })
      })
    }

    it(`with ${what} is not charged for after its run`, async () => {
      const { call, counts } = await sell({ settle: "after-handler" }, make(), good)
      const failed = await call()
      assert.isTrue(failed.isError)
      assert.deepStrictEqual(counts(), { runs: 1, signed: 1, transfers: 0 })
      assert.deepStrictEqual<unknown>((await call()).content, content)
      assert.deepStrictEqual(counts(), { runs: 2, signed: 1, transfers: 1 })
    })
  }

  for (const [mode, more] of Object.entries({ repeated: modes["repeated"], receipted: modes["receipted"] })) {
    it(`the second time that it is written ends the execution all the same, ${mode}`, async () => {
      const { call, counts } = await sell(more ?? {}, { content, structuredContent: { a: once() } }, good)
      assert.isTrue((await call()).isError)
      assert.deepStrictEqual<unknown>((await call()).content, content)
      assert.deepStrictEqual(counts(), { runs: 2, signed: 1, transfers: 1 })
    })
  }
})

describe("a signed receipt covers the result as it leaves the server", () => {
  const results: Readonly<Record<string, unknown>> = {
    "without content": { structuredContent: { a: 1 } },
    "with unknown keys": { content: [{ type: "text", text: "chart", score: 1, annotations: { mine: 1 } }], mine: 1 }
  }
  for (const [what, result] of Object.entries(results)) {
    it(`also ${what}`, async () => {
      const { call } = await sell({ receipt: "response" }, result)
      const { _meta, ...goods } = await call()
      const signed = MetaPayer.receiptOf({ _meta })?.signed
      const digest = createHash("sha256")
        .update(CanonicalText.of(JSON.parse(JSON.stringify(goods))) ?? "")
        .digest("hex")
      assert.strictEqual(signed?.payload.responseSha256, digest)
    })
  }
})
