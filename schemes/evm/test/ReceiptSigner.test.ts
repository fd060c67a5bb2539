import { assert, describe, it } from "@effect/vitest"
import { SignedReceipt } from "@pontage/core"
import * as fc from "fast-check"
import { hashTypedData } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import * as ReceiptDigest from "../src/crypto/ReceiptDigest.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"
import { receiptSigner, receiptSignerOf } from "../src/wallet/ReceiptSigner.ts"

const key = `0x${"11".repeat(32)}` as const
const account = privateKeyToAccount(key)

const statement: SignedReceipt.ReceiptStatement = {
  version: 1,
  network: "eip155:8453",
  resourceUrl: "https://shop.example/report?day=1",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  issuedAt: 1_700_000_000,
  transaction: `0x${"ab".repeat(32)}`
}

const typed = (message: SignedReceipt.ReceiptStatement) => ({
  domain: SignedReceipt.domain,
  types: SignedReceipt.types,
  primaryType: "Receipt" as const,
  message: { ...message, version: BigInt(message.version), issuedAt: BigInt(message.issuedAt) }
})

const signed = async (): Promise<SignedReceipt.SignedReceipt> => ({
  format: "eip712",
  payload: statement,
  signature: await receiptSigner(key).signReceipt(statement)
})

describe("the digest of a receipt", () => {
  it("is that of EIP-712, whatever the statement", () => {
    const statements = fc.record({
      version: fc.constant(1 as const),
      network: fc.string({ unit: "grapheme" }),
      resourceUrl: fc.webUrl(),
      payer: fc.string(),
      issuedAt: fc.nat(),
      transaction: fc.string()
    })
    fc.assert(
      fc.property(statements, (one) => {
        assert.strictEqual(EvmHex.fromBytes(ReceiptDigest.of(one)), hashTypedData(typed(one)))
      })
    )
  })
})

describe("a receipt signer", () => {
  it("signs as a wallet does", async () => {
    const { signature } = await signed()
    assert.strictEqual(receiptSigner(key).address, account.address)
    assert.strictEqual(signature, await account.signTypedData(typed(statement)))
  })

  it("is found from its receipt", async () => {
    assert.strictEqual(receiptSignerOf(await signed()), account.address)
  })

  it("is another one, or none, if a field has changed", async () => {
    const receipt = await signed()
    const changes: ReadonlyArray<Partial<SignedReceipt.ReceiptStatement>> = [
      { network: "eip155:1" },
      { resourceUrl: "https://shop.example/report?day=2" },
      { payer: statement.payer.toLowerCase() },
      { issuedAt: statement.issuedAt + 1 },
      { transaction: "" }
    ]
    for (const change of changes) {
      assert.notStrictEqual(receiptSignerOf({ ...receipt, payload: { ...statement, ...change } }), account.address)
    }
  })

  it("is none for a signature in another form", async () => {
    const { payload, signature } = await signed()
    for (const wrong of ["", "0x", "0xzz", signature.slice(0, -2), `${signature}00`, `${signature.slice(0, -2)}00`]) {
      assert.isUndefined(receiptSignerOf({ format: "eip712", payload, signature: wrong }), wrong)
    }
  })

  it("is not made of a text that is no key, and no message shows the text", () => {
    for (const text of ["0x12", "cafe".repeat(20), "ca".repeat(31)]) {
      assert.throws(() => receiptSigner(text), /^exactEvm\.receiptSigner: (?!.*cafe).*private key/)
    }
  })
})
