import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { bytesToHex, keccak256, serializeTransaction } from "viem"
import { hashAuthorization } from "viem/utils"

import * as Eip1559 from "../../src/primitives/Eip1559.ts"
import * as Eip7702 from "../../src/primitives/Eip7702.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"

const bits = (count: bigint) =>
  fc.oneof(fc.constantFrom(0n, 1n, 127n, 128n, 255n, 256n, 2n ** count - 1n), fc.bigInt(0n, 2n ** count - 1n))
const counts = fc.oneof(
  fc.constantFrom(1, 127, 128, 255, 256, 65_535, Number.MAX_SAFE_INTEGER),
  fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
)
const data = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  fc.uint8Array({ minLength: 50, maxLength: 60 }),
  fc.uint8Array({ maxLength: 600 }),
  fc.constantFrom(new Uint8Array(65_600).fill(1), Uint8Array.of(0), Uint8Array.of(127), Uint8Array.of(128))
)
const upper = (hex: EvmHex.Hex): EvmHex.Hex => `0x${hex.slice(2).toUpperCase()}`

/** Transactions in range, with every edge of a number's encoding. */
const transactions: fc.Arbitrary<Extract<Eip1559.UnsignedTransaction, { readonly type: "eip1559" }>> = fc
  .tuple(bits(256n), bits(256n))
  .chain(([a, b]) =>
    fc.record({
      type: fc.constant("eip1559"),
      chainId: counts,
      nonce: fc.oneof(fc.constant(0), counts),
      to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => upper(bytesToHex(bytes))),
      data: data.map((bytes) => upper(bytesToHex(bytes))),
      gas: bits(64n),
      value: bits(256n),
      maxFeePerGas: fc.constant(a > b ? a : b),
      maxPriorityFeePerGas: fc.constant(a > b ? b : a)
    })
  )

const parts = fc.oneof(fc.bigInt(1n, 2n ** 256n - 1n), fc.constantFrom(1n, 127n, 128n, 255n, 256n, 2n ** 248n - 1n))

const word = fc.bigInt(1n, 2n ** 256n - 1n).map((value): EvmHex.Hex => `0x${EvmHex.toWord(value)}`)
const authorizations: fc.Arbitrary<Eip7702.Authorization> = fc.record({
  chainId: fc.oneof(fc.constant(0), counts),
  address: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(bytesToHex),
  nonce: fc.oneof(fc.constant(0), counts),
  yParity: fc.constantFrom(0, 1),
  r: word,
  s: word
})

describe("Eip1559", () => {
  it("encodes what is signed as viem does", () => {
    fc.assert(
      fc.property(transactions, (transaction) => {
        assert.isUndefined(Eip1559.irregularity(transaction))
        const lower = { ...transaction, to: EvmHex.toLowerCase(transaction.to) }
        assert.strictEqual(Eip1559.toSign(Eip1559.encodeFields(transaction)), serializeTransaction(lower).toLowerCase())
      }),
      { numRuns: 500 }
    )
  })

  it("encodes what is sent as viem does, with r and s of any length", () => {
    fc.assert(
      fc.property(transactions, parts, parts, fc.constantFrom(0, 1), (transaction, r, s, yParity) => {
        const words = [r, s].map((part): EvmHex.Hex => `0x${EvmHex.toWord(part)}`)
        const signature = EvmHex.toBytes(`0x${EvmHex.toWord(r)}${EvmHex.toWord(s)}0${yParity}`)
        const lower = { ...transaction, to: EvmHex.toLowerCase(transaction.to) }
        const expected = serializeTransaction(lower, { r: words[0] ?? "0x", s: words[1] ?? "0x", yParity })
        assert.strictEqual(Eip1559.signed(Eip1559.encodeFields(transaction), signature), expected.toLowerCase())
      }),
      { numRuns: 300 }
    )
  })

  it("reads the call out of what is sent, and nothing out of bytes that are cut or are none", () => {
    fc.assert(
      fc.property(transactions, parts, fc.nat({ max: 200 }), (transaction, part, cut) => {
        const signature = EvmHex.toBytes(`0x${EvmHex.toWord(part)}${EvmHex.toWord(part)}01`)
        const sent = Eip1559.signed(Eip1559.encodeFields(transaction), signature)
        const { data, gas, to, value } = transaction
        const call = { to: EvmHex.toLowerCase(to), data: EvmHex.toLowerCase(data), gas, ...(value > 0n && { value }) }
        assert.deepStrictEqual(Eip1559.callIn(sent), call)
        const shorter = Eip1559.callIn(sent.slice(0, -2 * (cut + 68)))
        assert.isTrue(shorter === undefined || shorter.data === call.data)
        assert.isUndefined(Eip1559.callIn(sent.slice(0, 40)))
      }),
      { numRuns: 300 }
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        Eip1559.callIn(EvmHex.fromBytes(bytes))
        Eip1559.callIn(`0x02${EvmHex.fromBytes(bytes).slice(2)}`)
      }),
      { numRuns: 500 }
    )
    for (const text of ["", "0x", "0x02", "0x02c0", "no hexadecimal"]) assert.isUndefined(Eip1559.callIn(text))
  })

  it("encodes authorizations as viem does, and reads them out of what is sent (EIP-7702)", () => {
    fc.assert(
      fc.property(transactions, fc.array(authorizations, { minLength: 1, maxLength: 4 }), parts, (base, list, part) => {
        const transaction: Eip1559.UnsignedTransaction = { ...base, type: "eip7702", authorizationList: list }
        assert.isUndefined(Eip1559.irregularity(transaction))
        const word: EvmHex.Hex = `0x${EvmHex.toWord(part)}`
        const signature = EvmHex.toBytes(`0x${EvmHex.toWord(part)}${EvmHex.toWord(part)}01`)
        const lower = { ...transaction, to: EvmHex.toLowerCase(transaction.to) }
        const fields = Eip1559.encodeFields(transaction)
        assert.strictEqual(Eip1559.toSign(fields, "eip7702"), serializeTransaction(lower).toLowerCase())
        const sent = Eip1559.signed(fields, signature, "eip7702")
        assert.strictEqual(sent, serializeTransaction(lower, { r: word, s: word, yParity: 1 }).toLowerCase())
        assert.deepStrictEqual(Eip1559.callIn(sent)?.authorizationList, list)
        for (const one of list) {
          const hash = hashAuthorization({ address: one.address, chainId: one.chainId, nonce: one.nonce })
          assert.strictEqual(keccak256(Eip7702.toSign(one)), hash)
        }
      }),
      { numRuns: 200 }
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        Eip1559.callIn(`0x04${EvmHex.fromBytes(bytes).slice(2)}`)
      }),
      { numRuns: 500 }
    )
    const empty: Eip1559.UnsignedTransaction = {
      ...(fc.sample(transactions, { numRuns: 1, seed: 1 })[0] ?? assert.fail("there is one")),
      type: "eip7702",
      authorizationList: []
    }
    assert.strictEqual(Eip1559.irregularity(empty), "authorizationList")
  })

  it("names what is out of range", () => {
    const good: Extract<Eip1559.UnsignedTransaction, { readonly type: "eip1559" }> = {
      type: "eip1559",
      chainId: 1,
      nonce: 0,
      to: "0x036cbd53842c5426634e7929541ec2318f3dcf7e",
      data: "0x",
      gas: 2n ** 64n - 1n,
      value: 2n ** 256n - 1n,
      maxFeePerGas: 5n,
      maxPriorityFeePerGas: 5n
    }
    assert.isUndefined(Eip1559.irregularity(good))
    const cases: ReadonlyArray<Partial<typeof good>> = [
      ...[0, -1, 1.5, NaN, 2 ** 53].map((chainId) => ({ chainId })),
      ...[-1, 1.5, NaN, Infinity, 2 ** 53].map((nonce) => ({ nonce })),
      { to: "0x" },
      { to: `${good.to}00` },
      { to: `0x${"g".repeat(40)}` },
      { data: "0x1" },
      { data: "0xzz" },
      ...[-1n, 2n ** 64n].map((gas) => ({ gas })),
      ...[-1n, 2n ** 256n].map((value) => ({ value })),
      ...[-1n, 2n ** 256n].map((maxFeePerGas) => ({ maxFeePerGas })),
      ...[-1n, 6n, 2n ** 256n].map((maxPriorityFeePerGas) => ({ maxPriorityFeePerGas }))
    ]
    for (const deviation of cases) {
      assert.strictEqual(Eip1559.irregularity({ ...good, ...deviation }), Object.keys(deviation)[0])
    }
  })
})
