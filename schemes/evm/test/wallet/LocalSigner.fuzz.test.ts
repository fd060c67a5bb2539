import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Redacted from "effect/Redacted"
import * as fc from "fast-check"
import { bytesToHex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import { exactEvm } from "../../src/index.ts"
import type { UnsignedTransaction } from "../../src/primitives/Eip1559.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as CryptoTable from "../CryptoTable.ts"
import * as TypedPayments from "../TypedPayments.ts"

const transactions: fc.Arbitrary<UnsignedTransaction> = fc
  .tuple(fc.bigInt(0n, 2n ** 40n), fc.bigInt(0n, 2n ** 40n))
  .chain(([priority, more]) =>
    fc.record({
      type: fc.constant("eip1559"),
      chainId: fc.integer({ min: 1, max: 2 ** 40 }),
      nonce: fc.nat(),
      to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => bytesToHex(bytes)),
      data: fc.uint8Array({ maxLength: 400 }).map((bytes) => bytesToHex(bytes)),
      gas: fc.bigInt(0n, 2n ** 64n - 1n),
      value: fc.oneof(fc.constant(0n), fc.bigInt(0n, 2n ** 256n - 1n)),
      maxFeePerGas: fc.constant(priority + more),
      maxPriorityFeePerGas: fc.constant(priority)
    })
  )

const secret: EvmHex.Hex = `0x${"c0ffee11".repeat(8)}`
const transaction: UnsignedTransaction = {
  type: "eip1559",
  chainId: 31_337,
  nonce: 7,
  to: "0x036cbd53842c5426634e7929541ec2318f3dcf7e",
  data: "0x1234",
  gas: 150_000n,
  value: 0n,
  maxFeePerGas: 21n,
  maxPriorityFeePerGas: 1n
}

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}

const rejection = (signer: ReturnType<typeof exactEvm.localSigner>, given: UnsignedTransaction) =>
  signer.signTransaction(given).then(
    () => "signed",
    (error: unknown) => (error instanceof Misconfigured ? error.message : "another error")
  )

describe("localSigner", () => {
  it("signs the same bytes as viem, by every cryptography", () =>
    fc.assert(
      fc.asyncProperty(CryptoTable.keys, transactions, async (key, transaction) => {
        const privateKey: EvmHex.Hex = `0x${EvmHex.toWord(key)}`
        const account = privateKeyToAccount(privateKey)
        const expected = await account.signTransaction(transaction)
        const signers = CryptoTable.all.map((crypto) => exactEvm.localSigner(privateKey, crypto))
        for (const { address } of signers) assert.strictEqual(address, account.address)
        const signed = await Promise.all(signers.map((signer) => signer.signTransaction(transaction)))
        assert.deepStrictEqual(
          signed,
          signers.map(() => expected)
        )
      }),
      { numRuns: 60 }
    ))

  it("signs authorizations to the same bytes as viem, by every cryptography", () =>
    fc.assert(
      fc.asyncProperty(CryptoTable.keys, TypedPayments.typedData, async (key, data) => {
        const privateKey: EvmHex.Hex = `0x${EvmHex.toWord(key)}`
        const expected = await privateKeyToAccount(privateKey).signTypedData(data)
        const signed = CryptoTable.all.map((crypto) => exactEvm.localSigner(privateKey, crypto).signTypedData(data))
        assert.deepStrictEqual(
          await Promise.all(signed),
          signed.map(() => expected)
        )
      }),
      { numRuns: 40 }
    ))

  it("signs no typed data but that of payments, and says so", async () => {
    const signer = exactEvm.localSigner(secret)
    const { data } = TypedPayments.arbitrum
    const permit = JSON.parse(Eip3009.toJson({ ...data, message: { ...data.message, value: 1n } }))
    const refused = signer.signTypedData({ ...permit, primaryType: "Order" }).catch((error: unknown) => error)
    const error = await refused
    assert(error instanceof Misconfigured)
    assert.match(error.message, /is not that of a payment/)
    const mute = { ...EvmCrypto.javaScript, name: "a broken build", sign: () => undefined }
    const silent = await exactEvm.localSigner(secret, mute).signTypedData(data).catch(String)
    assert.match(silent, /a broken build did not sign/)
  })

  it("takes a key redacted too, in either case", () => {
    const { address } = privateKeyToAccount(secret)
    assert.strictEqual(exactEvm.localSigner(Redacted.make(secret)).address, address)
    assert.strictEqual(exactEvm.localSigner(`0x${secret.slice(2).toUpperCase()}`).address, address)
    assert.strictEqual(exactEvm.localSigner(secret.slice(2)).address, address)
  })

  it("asks for the variable of a key that is unset", () => {
    for (const unset of [undefined, ""]) {
      const error = thrownBy(() => exactEvm.localSigner(unset as never))
      assert.match(String(error), /is the environment variable that holds it set\?/)
    }
  })

  it("refuses what is no key, without quoting it", () => {
    const order = `0x${EvmHex.toWord(CryptoTable.order)}`
    for (const text of ["", "0x", `0x${"00".repeat(32)}`, order, `${secret}00`, `0x${"zz".repeat(32)}`]) {
      const error = thrownBy(() => exactEvm.localSigner(text))
      assert(error instanceof Misconfigured, text)
      assert.isFalse(text.length > 2 && inspect(error, { depth: 10 }).includes(text.slice(2, 20)), text)
    }
  })

  it("shows its key nowhere", async () => {
    const signer = exactEvm.localSigner(secret)
    const failure = await signer.signTransaction({ ...transaction, gas: -1n }).catch((error: unknown) => error)
    for (const shown of [signer, failure, String(failure), signer.signTransaction, signer.signTypedData]) {
      const text = inspect(shown, { depth: 10, showHidden: true }) + JSON.stringify(shown)
      assert.notInclude(text.toLowerCase(), "c0ffee11")
      assert.notInclude(text, "192, 255, 238")
    }
  })

  it("rejects a transaction that no chain could take, and a cryptography that does not sign", async () => {
    assert.match(await rejection(exactEvm.localSigner(secret), { ...transaction, nonce: -1 }), /nonce is out of range/)
    const mute = { ...EvmCrypto.javaScript, name: "a broken build", sign: () => undefined }
    assert.match(await rejection(exactEvm.localSigner(secret, mute), transaction), /a broken build did not sign/)
    assert.strictEqual(await rejection(exactEvm.localSigner(secret), transaction), "signed")
  })
})
