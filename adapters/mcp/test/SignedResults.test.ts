/** Signed receipts of tools' results: they name the tool, and cover the result as its caller gets it. */
import { createHash } from "node:crypto"

import { Binding, CanonicalText, MetaPayer } from "@pontage/core"
import { TestScheme } from "@pontage/core/testing"
import { exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { sellTools } from "../src/index.ts"
import * as FakeTools from "./FakeTools.ts"
import * as OpenTools from "./OpenTools.ts"

const receipts = exactEvm.receiptSigner(`0x${"11".repeat(32)}`)

type Receipt = "payment" | "response"

const called = async (receipt: Receipt, isError: boolean, refused: "reusable" | "charged" = "reusable") => {
  const { ledger, options, terms } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const shop = sellTools({ ...options, receipts })
  const paid = shop.paid({ ...terms, receipt, refused })
  await shop.ready()
  const { client, close } = await OpenTools.inMemory((server) =>
    paid.registerTool(server, "dice", { description: "A random number" }, () => ({
      content: [{ type: "text", text: `ä ${Math.random()}` }],
      ...(isError && { isError })
    }))
  )
  const { accepts, resource } = FakeTools.requestIn(await FakeTools.call(client, "dice", {}))
  const [offer] = accepts as unknown as ReadonlyArray<
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
  const payment = { "x402/payment": { x402Version: 2, payload, resource, accepted: offer } }
  const result = await FakeTools.call(client, "dice", {}, payment)
  await Promise.all([shop.close(), close()])
  return result
}

const signedIn = (result: Awaited<ReturnType<typeof called>>) => MetaPayer.receiptOf(result)?.signed

const buy = async (...terms: Parameters<typeof called>) => {
  const result = await called(...terms)
  const signed = signedIn(result)
  assert(signed !== undefined)
  assert.strictEqual(exactEvm.receiptSignerOf(signed), receipts.address)
  const { _meta, ...goods } = result
  const digest = createHash("sha256")
    .update(CanonicalText.of(JSON.parse(JSON.stringify(goods))) ?? "")
    .digest("hex")
  return { statement: signed.payload, digest }
}

describe("the signed receipt of a tool's result", () => {
  it("names the tool, and covers its result", async () => {
    const { digest, statement } = await buy("response", false)
    assert.deepInclude(statement, { method: "tools/call", payer: "acct-alice", responseStatus: 200 })
    assert.match(statement.resourceUrl, /\/tools\/dice$/)
    assert.strictEqual(statement.responseSha256, digest)
  })

  it("covers an error that is the product", async () => {
    const { digest, statement } = await buy("response", true, "charged")
    assert.deepInclude(statement, { responseStatus: 200, responseSha256: digest })
  })

  it.each(["payment", "response"] as const)(
    "is left out of an error that leaves the payment good for another call (receipt: %s)",
    async (receipt) => {
      const result = await called(receipt, true)
      assert.isTrue(MetaPayer.receiptOf(result)?.success)
      assert.isUndefined(signedIn(result))
    }
  )

  it("covers no result unless the terms say so", async () => {
    const { statement } = await buy("payment", false)
    assert.deepInclude(statement, { responseStatus: 0, responseSha256: "" })
  })
})
