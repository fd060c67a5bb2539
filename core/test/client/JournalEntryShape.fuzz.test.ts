/**
 * A journal in a browser reads by a shape what one in a file reads by its schema: they must not differ on any line.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import { JournalLine } from "../../src/client/ChannelEntry.ts"
import { journalStates } from "../../src/client/JournalEntry.ts"
import { journalLine } from "../../src/client/JournalEntryShape.ts"
import * as Shape from "../../src/protocol/Shape.ts"

const mostly = <A>(right: fc.Arbitrary<A>) =>
  fc.oneof({ weight: 80, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
const maybe = <A>(right: fc.Arbitrary<A>) => fc.option(mostly(right), { nil: undefined, freq: 3 })
const text = mostly(fc.string())
const int = mostly(fc.maxSafeInteger())

const receipts = fc.record({
  success: mostly(fc.constant(true)),
  transaction: text,
  network: text,
  payer: text,
  amount: mostly(fc.constantFrom("10", "0", "010")),
  paymentId: text
})

const entries = fc.record({
  id: text,
  state: mostly(fc.constantFrom(...journalStates)),
  request: text,
  method: text,
  url: text,
  host: text,
  network: text,
  asset: text,
  payTo: text,
  amount: text,
  spendings: mostly(fc.array(mostly(fc.record({ unit: text, digits: text, scale: int })), { maxLength: 2 })),
  at: int,
  validBefore: int,
  paymentId: maybe(fc.string()),
  payer: maybe(fc.string()),
  headers: maybe(fc.dictionary(fc.string(), mostly(fc.string()), { maxKeys: 2, noNullPrototype: true })),
  receipt: maybe(receipts),
  draw: maybe(fc.record({ channel: text, ceiling: text })),
  drawnAt: maybe(fc.maxSafeInteger()),
  owedUntil: maybe(fc.maxSafeInteger()),
  more: maybe(fc.string())
})

const amount = mostly(fc.constantFrom("0", "10", "010", "-1"))

const channels = fc.record({
  kind: fc.constant("channel"),
  id: text,
  host: text,
  network: text,
  asset: text,
  payTo: text,
  terms: fc.jsonValue({ maxDepth: 2 }),
  units: mostly(fc.array(mostly(fc.record({ unit: text, scale: int })), { maxLength: 2 })),
  balance: amount,
  claimed: amount,
  charged: amount,
  lost: maybe(amount),
  unproven: maybe(amount),
  signed: amount,
  deposit: maybe(
    fc.record({
      amount,
      onTopOf: amount,
      validBefore: int,
      isReported: mostly(fc.boolean()),
      signed: maybe(fc.jsonValue({ maxDepth: 2 }))
    })
  ),
  at: int
})

describe("the shape of a line", () => {
  it("reads what its schema reads, and nothing else", () => {
    const decode = Schema.decodeUnknownResult(JournalLine)
    const bySchema = (json: unknown) => Result.getOrUndefined(decode(json))
    let read = 0
    let refused = 0
    fc.assert(
      fc.property(mostly(fc.oneof(entries, channels)), (value) => {
        const json: unknown = JSON.parse(JSON.stringify(value))
        const found = Result.getOrUndefined(Shape.read(journalLine, json))
        if (found === undefined) refused++
        else read++
        assert.deepStrictEqual(found, bySchema(json))
      }),
      { numRuns: 2_000 }
    )
    assert.isAbove(read, 200)
    assert.isAbove(refused, 200)
  })
})
