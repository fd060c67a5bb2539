/** `pontage receipt verify`: receipts of a real shop, and such that were changed. */
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { PurchaseReceipt, SignedStatement } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as ReceiptText from "../src/shop/ReceiptText.ts"
import * as CliProcess from "./CliProcess.ts"
import * as OpenShop from "./OpenShop.ts"

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64")

describe("pontage receipt verify", () => {
  it.live("tells who signed what a shop sold, and refuses what does not fit", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.make({ payers: 2 })
        const receipts = exactEvm.receiptSigner(`0x${"22".repeat(32)}`)
        const shop = yield* OpenShop.koa(chain, "none", receipts)
        const home = CliProcess.freshHome()
        const run = (...args: ReadonlyArray<string>) => Effect.promise(() => CliProcess.run(home, args))
        const url = `${shop.origin}/report`
        const paid = yield* run("pay", url, "-y", "--json")
        assert.strictEqual(paid.code, 0, paid.err)
        const file = join(home, "paid.json")
        writeFileSync(file, paid.out)
        const verify = (...args: ReadonlyArray<string>) => run("receipt", "verify", file, ...args)

        const own = yield* verify("--signer", receipts.address, "--url", url)
        assert.strictEqual(own.code, 0, own.out + own.err)
        assert.include(own.out, "The receipt is the shop's.")
        const transfer = (yield* chain.transfers()).find(({ to }) => to === chain.accounts.payee.address)
        assert.include(own.out, transfer?.transactionHash ?? "a transfer")

        const json = yield* verify("--json", "--transaction", transfer?.transactionHash ?? "")
        assert.deepInclude(JSON.parse(json.out), { signer: receipts.address, resourceUrl: url, faults: [], exit: 0 })

        const other = chain.accounts.payee.address
        for (const [args, fault] of [
          [["--signer", other], `signed by ${receipts.address}, not by ${other}`],
          [["--url", `${url}?x=1`], "for another URL"],
          [["--payer", other], "for another payer"],
          [["--transaction", "0x00"], "for another transaction"],
          [["--method", "POST"], "for another method"],
          [["--payment", "pay_other"], "for another payment"],
          [["--amount", "1"], "for another amount"],
          [["--body", file], "for another response"]
        ] as const) {
          const refused = yield* verify(...args)
          assert.strictEqual(refused.code, 1)
          assert.include(refused.out, fault)
          assert.notInclude(refused.out, "The receipt is")
        }

        const [found] = ReceiptText.find(readFileSync(file, "utf8"))
        assert(found !== undefined && SignedStatement.isPurchase(found.signed))
        const receipt = found.signed
        const { body } = JSON.parse(paid.out)
        const bodyFile = join(home, "body")
        writeFileSync(bodyFile, body)
        writeFileSync(file, JSON.stringify(receipt))
        assert.strictEqual((yield* verify("--signer", receipts.address, "--body", bodyFile)).code, 0)
        assert.strictEqual(receipt.payload.responseSha256, createHash("sha256").update(body).digest("hex"))
        // The body beside the receipt has changed.
        writeFileSync(file, JSON.stringify({ ...JSON.parse(paid.out), body: `${body} ` }))
        const swapped = yield* verify("--signer", receipts.address)
        assert.strictEqual(swapped.code, 1)
        assert.include(swapped.out, "for another response")

        const changed = { ...receipt, payload: { ...receipt.payload, resourceUrl: `${url}?x=1` } }
        writeFileSync(file, JSON.stringify(changed))
        const forged = yield* verify("--signer", receipts.address)
        assert.strictEqual(forged.code, 1, forged.out)

        // A receipt that covers no response, signed by the shop's own key.
        const bare = { ...receipt.payload, responseStatus: 0, responseSha256: "" }
        const signature = yield* Effect.promise(() => receipts.signTypedData(PurchaseReceipt.typed(bare)))
        writeFileSync(file, JSON.stringify({ ...receipt, payload: bare, signature }))
        assert.strictEqual((yield* verify("--signer", receipts.address)).code, 0)
        const uncovered = yield* verify("--signer", receipts.address, "--body", bodyFile)
        assert.strictEqual(uncovered.code, 1)
        assert.include(uncovered.out, "it covers no response")

        // The offers of the unpaid response.
        const unpaid = yield* Effect.promise(() => fetch(url))
        const offers = Buffer.from(unpaid.headers.get("payment-required") ?? "", "base64").toString("utf8")
        writeFileSync(file, offers)
        const offered = yield* verify("--signer", receipts.address, "--url", url, "--amount", "10000")
        assert.strictEqual(offered.code, 0, offered.out + offered.err)
        assert.include(offered.out, "The offer is the shop's.")
        assert.strictEqual((yield* verify("--amount", "1")).code, 1)
        assert.include((yield* verify("--payer", other)).out, "it does not say the payer")
        writeFileSync(file, offers.replaceAll('"amount":"10000"', '"amount":"1"'))
        assert.strictEqual((yield* verify("--signer", receipts.address)).code, 1)

        writeFileSync(file, '{"report":"no receipt"}')
        assert.strictEqual((yield* verify()).code, 1)
        assert.strictEqual((yield* run("receipt", "verify", join(home, "missing"))).code, 2)
        assert.strictEqual((yield* run("receipt", "verify")).code, 2)
        assert.strictEqual((yield* verify("--signer", "me")).code, 2)
      })
    )
  )
})

describe("a receipt in a text", () => {
  const receipt = {
    format: "eip712",
    payload: {
      version: 1,
      network: "eip155:1",
      resourceUrl: "https://a/b",
      payer: "0x1",
      issuedAt: 1,
      transaction: ""
    },
    signature: "0x00"
  } as const
  const inX402 = { success: true, extensions: { "offer-receipt": { info: { receipt } } } }

  it.each([
    JSON.stringify(receipt),
    JSON.stringify({ success: true, signedReceipt: receipt }),
    base64(inX402),
    JSON.stringify(inX402),
    JSON.stringify({ headers: { "payment-response": base64(inX402) } }),
    JSON.stringify({ headers: { "x-payment-response": JSON.stringify({ signedReceipt: receipt }) } })
  ])("is found in %s", (text) => assert.deepStrictEqual(ReceiptText.find(text)[0]?.signed, receipt))

  it.each([
    "",
    "null",
    "[]",
    '"x"',
    JSON.stringify({ ...receipt, format: "jws" }),
    JSON.stringify({ ...receipt, payload: { ...receipt.payload, version: 2 } }),
    JSON.stringify({ ...receipt, payload: { ...receipt.payload, issuedAt: "1" } }),
    JSON.stringify({ headers: { "payment-response": "%%%" } }),
    '{"__proto__":{"signedReceipt":1}}'
  ])("is not found in %s", (text) => assert.lengthOf(ReceiptText.find(text), 0))
})
