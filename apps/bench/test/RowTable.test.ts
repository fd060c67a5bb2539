import { assert, describe, it } from "@effect/vitest"

import * as RowTable from "../src/RowTable.ts"

describe("toText", () => {
  it("has a line for each figure, and under it one for each comparison", () => {
    const text = RowTable.toText([
      { name: "a", value: 1.005, unit: "ms CPU", note: "warm" },
      {
        name: "longer",
        value: 20,
        unit: "per second",
        ratios: [
          { than: "theirs", ratio: 5.5, target: 5 },
          { than: "others", ratio: 4.99, target: 5 },
          { than: "anybody", ratio: 2 }
        ]
      }
    ])
    assert.deepStrictEqual(text.split("\n"), [
      "a             1.00 ms CPU       warm",
      "longer       20.00 per second",
      "        5.50× theirs, target 5×",
      "        4.99× others, target 5×: missed",
      "        2.00× anybody"
    ])
  })

  it("of nothing is empty", () => assert.strictEqual(RowTable.toText([]), ""))
})
