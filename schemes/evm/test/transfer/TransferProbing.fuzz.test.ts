import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as TransferProbing from "../../src/transfer/TransferProbing.ts"

const words = fc.uint8Array({ minLength: 1, maxLength: 260 })
const outcome = fc.oneof(fc.constantFrom("returned", "unknown", "code"), words)

const written = (outcomes: ReadonlyArray<string | Uint8Array>): EvmHex.Hex =>
  EvmHex.fromBytes(
    Uint8Array.from(
      outcomes.flatMap((one) => {
        if (typeof one !== "string") return [0, one.length >> 8, one.length & 255, ...one]
        if (one === "unknown") return [0, 0, 0]
        return [one === "returned" ? 1 : 2]
      })
    )
  )

const nothing = (count: number) => Array.from({ length: count }, () => undefined)

const read = (one: string | Uint8Array): TransferProbing.ProbeOutcome | undefined => {
  if (typeof one !== "string") return { _tag: "Reverted", data: EvmHex.fromBytes(one), message: "" }
  if (one === "returned") return { _tag: "Returned", data: "0x" }
  return one === "code" ? { _tag: "HasCode" } : undefined
}

describe("TransferProbing", () => {
  it("reads each outcome", () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 25 }), (outcomes) => {
        assert.deepStrictEqual(TransferProbing.fromResult(written(outcomes), outcomes.length), outcomes.map(read))
      })
    )
  })

  it("takes nothing from a response that is of fewer, of more, or of something else", () => {
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 3 }),
        (outcomes, cut) => {
          const answer = written(outcomes)
          const { length } = outcomes
          assert.deepStrictEqual(TransferProbing.fromResult(answer, length + cut), nothing(length + cut))
          assert.deepStrictEqual(TransferProbing.fromResult(`${answer}01`, length), nothing(length))
          assert.deepStrictEqual(TransferProbing.fromResult("0x", length), nothing(length))
        }
      )
    )
  })

  it("survives whatever a node answers", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.integer({ min: 0, max: 30 }), (bytes, entries) => {
        assert.lengthOf(TransferProbing.fromResult(EvmHex.fromBytes(bytes), entries), entries)
      })
    )
  })
})
