import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as TransactionCost from "../../../src/facilitator/store/TransactionCost.ts"

const sum = (parts: Iterable<bigint>) => [...parts].reduce((a, b) => a + b, 0n)

describe("shares", () => {
  it("divides alike, and gives the first what cannot be divided", () => {
    assert.deepStrictEqual(
      [...TransactionCost.shares(11n, ["a", "b", "a"])],
      [
        ["a", 8n],
        ["b", 3n]
      ]
    )
    assert.deepStrictEqual(
      [...TransactionCost.shares(2n, ["b", "a", "c"])],
      [
        ["b", 2n],
        ["a", 0n],
        ["c", 0n]
      ]
    )
  })

  it("books a transaction without payments to the caller of the empty name", () => {
    assert.deepStrictEqual([...TransactionCost.shares(7n, [])], [["", 7n]])
  })

  it("loses and invents nothing", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n }), fc.array(fc.string()), (cost, callers) => {
        const parts = TransactionCost.shares(cost, callers)
        assert.strictEqual(sum(parts.values()), cost)
        for (const part of parts.values()) assert.isTrue(part >= 0n)
      })
    )
  })
})

describe("hourOf", () => {
  it("counts whole hours", () => {
    assert.deepStrictEqual([0, 3_599_999, 3_600_000].map(TransactionCost.hourOf), [0, 0, 1])
  })
})

describe("networkOf", () => {
  it("is what stands before the address, if there is one", () => {
    assert.strictEqual(TransactionCost.networkOf("eip155:1 0xabc"), "eip155:1")
    assert.strictEqual(TransactionCost.networkOf("tron:mainnet "), "tron:mainnet")
  })
})
