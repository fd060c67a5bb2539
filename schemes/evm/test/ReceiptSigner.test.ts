import { assert, describe, it } from "@effect/vitest"
import { PurchaseReceipt, SignedOffer, SignedReceipt, type SignedStatement, type TypedStatement } from "@pontage/core"
import * as fc from "fast-check"
import { hashTypedData } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import * as ReceiptDigest from "../src/crypto/ReceiptDigest.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"
import { receiptSigner, receiptSignerOf } from "../src/wallet/ReceiptSigner.ts"

const key = `0x${"11".repeat(32)}` as const
const account = privateKeyToAccount(key)

const receipt: SignedReceipt.ReceiptStatement = {
  version: 1,
  network: "eip155:8453",
  resourceUrl: "https://shop.example/report?day=1",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  issuedAt: 1_700_000_000,
  transaction: `0x${"ab".repeat(32)}`
}
const { issuedAt: _, transaction: __, payer: ___, ...place } = receipt
const offer: SignedOffer.OfferStatement = {
  ...place,
  scheme: "exact",
  asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  amount: "10000",
  validUntil: 1_700_000_900
}
const purchase: PurchaseReceipt.PurchaseStatement = {
  ...receipt,
  method: "GET",
  payTo: offer.payTo,
  asset: offer.asset,
  amount: "10000",
  paymentId: "pay_1",
  responseStatus: 200,
  responseSha256: "ab".repeat(32)
}

/** Each kind of statement: its typed data, and the statement under this signature. */
const kinds = {
  purchase: {
    typed: PurchaseReceipt.typed(purchase),
    with: (signature: string, change = {}): SignedStatement.SignedStatement => ({
      format: PurchaseReceipt.format,
      payload: { ...purchase, ...change },
      signature
    }),
    fields: purchase
  },
  receipt: {
    typed: SignedReceipt.typed(receipt),
    with: (signature: string, change = {}): SignedStatement.SignedStatement => ({
      format: "eip712",
      payload: { ...receipt, ...change },
      signature
    }),
    fields: receipt
  },
  offer: {
    typed: SignedOffer.typed(offer),
    with: (signature: string, change = {}): SignedStatement.SignedStatement => ({
      format: "eip712",
      payload: { ...offer, ...change },
      signature
    }),
    fields: offer
  }
}

describe("the digest of a statement", () => {
  it("is that of EIP-712, whatever the statement", () => {
    const texts = fc.string({ unit: "grapheme" })
    const types = fc.constantFrom(...Object.values(kinds).map(({ typed }) => typed))
    const statements = types.chain((typed) => {
      const values = Object.entries(typed.message).map(([name, value]) =>
        fc.tuple(fc.constant(name), typeof value === "string" ? texts : fc.bigInt({ min: 0n, max: 2n ** 64n }))
      )
      return fc.tuple(...values).map((entries) => Object.assign({}, typed, { message: Object.fromEntries(entries) }))
    })
    fc.assert(
      fc.property(statements, (one: TypedStatement.TypedStatement) => {
        assert.strictEqual(EvmHex.fromBytes(ReceiptDigest.of(one)), hashTypedData(one))
      })
    )
  })
})

describe("a receipt signer", () => {
  it.each(Object.values(kinds))("signs as a wallet does, and is found from what it signed", async (kind) => {
    const signature = await receiptSigner(key).signTypedData(kind.typed)
    assert.strictEqual(receiptSigner(key).address, account.address)
    assert.strictEqual(signature, await account.signTypedData(kind.typed))
    assert.strictEqual(receiptSignerOf(kind.with(signature)), account.address)
  })

  it("may be an account of viem", async () => {
    const signer: TypedStatement.ReceiptSigner = account
    const signature = await signer.signTypedData(kinds.purchase.typed)
    assert.strictEqual(receiptSignerOf(kinds.purchase.with(signature)), account.address)
  })

  it.each(Object.values(kinds))("is another one, or none, if a field has changed", async (kind) => {
    const signature = await receiptSigner(key).signTypedData(kind.typed)
    for (const [name, value] of Object.entries(kind.fields)) {
      if (name === "version") continue
      const change = { [name]: typeof value === "number" ? value + 1 : `${value}0` }
      assert.notStrictEqual(receiptSignerOf(kind.with(signature, change)), account.address, name)
    }
    assert.isUndefined(receiptSignerOf(kinds.receipt.with(signature, { issuedAt: -1 })))
  })

  it("is another one for the same signature on a statement of another kind", async () => {
    const signature = await receiptSigner(key).signTypedData(kinds.purchase.typed)
    assert.notStrictEqual(receiptSignerOf(kinds.receipt.with(signature)), account.address)
    assert.notStrictEqual(receiptSignerOf(kinds.offer.with(signature)), account.address)
  })

  it("is none for a signature in another form", async () => {
    const signature = await receiptSigner(key).signTypedData(kinds.purchase.typed)
    for (const wrong of ["", "0x", "0xzz", signature.slice(0, -2), `${signature}00`, `${signature.slice(0, -2)}00`]) {
      assert.isUndefined(receiptSignerOf(kinds.purchase.with(wrong)), wrong)
    }
  })

  it("is not made of a text that is no key, and no message shows the text", () => {
    for (const text of ["0x12", "cafe".repeat(20), "ca".repeat(31)]) {
      assert.throws(() => receiptSigner(text), /^exactEvm\.receiptSigner: (?!.*cafe).*private key/)
    }
  })
})
