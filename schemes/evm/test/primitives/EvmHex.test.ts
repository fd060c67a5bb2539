import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { bytesToHex, hexToBytes } from "viem"

import * as EvmHex from "../../src/primitives/EvmHex.ts"

describe("EvmHex", () => {
  it("converts bytes as viem does", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const hex = EvmHex.fromBytes(bytes)
        assert.strictEqual(hex, bytesToHex(bytes))
        assert.deepStrictEqual(EvmHex.toBytes(hex), bytes)
        assert.deepStrictEqual(EvmHex.toBytes(`0x${hex.slice(2).toUpperCase()}`), hexToBytes(hex))
      })
    )
  })

  it("reads quantities exactly and strictly", () => {
    const decode = Schema.decodeUnknownSync(EvmHex.Quantity)
    assert.strictEqual(decode("0x0"), 0n)
    assert.strictEqual(decode(`0x${"f".repeat(64)}`), 2n ** 256n - 1n)
    for (const wrong of ["0x", "0x00", "0x01", "1", "", "-0x1", 1, null, `0x1${"0".repeat(64)}`]) {
      assert.throws(() => decode(wrong), undefined, undefined, String(wrong))
    }
    assert.strictEqual(Schema.encodeSync(EvmHex.Quantity)(255n), "0xff")
  })

  it("decodes equal bytes to equal texts", () => {
    const decode = Schema.decodeUnknownSync(EvmHex.Bytes32)
    assert.strictEqual(decode(`0x${"AB".repeat(32)}`), `0x${"ab".repeat(32)}`)
    assert.throws(() => decode(`0x${"ab".repeat(31)}`))
    assert.throws(() => Schema.decodeUnknownSync(EvmHex.Hex)("0xabc"))
  })
})
