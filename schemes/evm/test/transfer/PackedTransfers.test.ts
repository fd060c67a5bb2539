import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Hex } from "viem"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as PackedTransfers from "../../src/transfer/PackedTransfers.ts"

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value): Hex => `0x${Buffer.from(value).toString("hex")}`)
const address = hex(20).map(EvmAddress.fromTail)
const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const signature = fc
  .tuple(fc.bigInt({ min: 1n, max: halfOrder }), fc.bigInt({ min: 1n, max: halfOrder }), fc.constantFrom("1b", "1c"))
  .map(([r, s, v]): Hex => `0x${[r, s].map((part) => part.toString(16).padStart(64, "0")).join("")}${v}`)

const transfers = (token: fc.Arbitrary<EvmAddress.Address>) =>
  fc.array(
    fc.record({
      token,
      authorization: fc.record({
        from: address,
        to: address,
        value: fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }),
        validAfter: fc.bigInt({ min: 0n, max: 2n ** 40n - 1n }),
        validBefore: fc.bigInt({ min: 0n, max: 2n ** 40n - 1n }),
        nonce: hex(32)
      }),
      signature
    }),
    { maxLength: PackedTransfers.maximumEntries }
  )

/** Reads the layout once more, by its description alone. */
const unpack = (runs: Hex): ReadonlyArray<PackedTransfers.PlainTransfer> => {
  let offset = 2
  const take = (bytes: number): Hex => {
    const taken = runs.slice(offset, offset + 2 * bytes)
    assert.lengthOf(taken, 2 * bytes)
    offset += 2 * bytes
    return `0x${taken}`
  }
  const read: Array<PackedTransfers.PlainTransfer> = []
  while (offset < runs.length) {
    const token = EvmAddress.fromTail(take(20))
    for (let left = Number(take(1)); left > 0; left--) {
      const authorization = {
        from: EvmAddress.fromTail(take(20)),
        to: EvmAddress.fromTail(take(20)),
        value: BigInt(take(12)),
        validAfter: BigInt(take(5)),
        validBefore: BigInt(take(5)),
        nonce: take(32)
      }
      const [r, marked] = [take(32), BigInt(take(32))]
      const s = BigInt.asUintN(255, marked)
      const signature: Hex = `${r}${s.toString(16).padStart(64, "0")}${marked === s ? "1b" : "1c"}`
      read.push({ token, authorization, signature })
    }
  }
  return read
}

describe("PackedTransfers", () => {
  it("packs all there is, in order, and nothing else", () => {
    const tokens = fc.constantFrom(
      EvmAddress.fromTail(`0x${"1".repeat(40)}`),
      EvmAddress.fromTail(`0x${"2".repeat(40)}`)
    )
    fc.assert(
      fc.property(fc.oneof(transfers(tokens), transfers(address)), (some) => {
        const { entries, runs } = PackedTransfers.pack(some)
        assert.strictEqual(entries, some.length)
        assert.deepStrictEqual(unpack(runs), some)
        const changes = some.filter(({ token }, index) => token !== some[index - 1]?.token).length
        assert.strictEqual(PackedTransfers.runCount(some), changes)
        assert.lengthOf(runs, 2 + 2 * (158 * some.length + 21 * changes))
      }),
      { numRuns: 50 }
    )
  })

  it("takes numbers that fit, and no larger", () => {
    const authorization = {
      from: EvmAddress.zero,
      to: EvmAddress.zero,
      value: 2n ** 96n - 1n,
      validAfter: 2n ** 40n - 1n,
      validBefore: 2n ** 40n - 1n,
      nonce: `0x${"0".repeat(64)}`
    } as const
    assert.isTrue(PackedTransfers.fits(authorization))
    assert.isFalse(PackedTransfers.fits({ ...authorization, value: 2n ** 96n }))
    assert.isFalse(PackedTransfers.fits({ ...authorization, validAfter: 2n ** 40n }))
    assert.isFalse(PackedTransfers.fits({ ...authorization, validBefore: 2n ** 40n }))
  })
})
