import { assert, describe, it } from "@effect/vitest"

import * as BenchSettings from "../src/BenchSettings.ts"

const known = ["paid", "streams"]
const read = (...args: ReadonlyArray<string>) => BenchSettings.read(args, known, 10_000)

describe("read", () => {
  it("runs all parts with the usual number of streams by default, and what is named otherwise", () => {
    assert.deepStrictEqual(read(), { parts: known, streams: 10_000 })
    assert.deepStrictEqual(read("--only", "streams,paid", "--streams", "250"), {
      parts: ["streams", "paid"],
      streams: 250
    })
  })

  it.each(["0", "1.5", "-3", "1e3", "", "many", "28001"])("refuses %j streams, and says what it takes", (streams) => {
    assert.throws(() => read(`--streams=${streams}`), /--streams is a whole number from 1 to 28000, not/)
  })

  it("refuses parts and options that it does not know", () => {
    assert.throws(() => read("--only", "paid,strems"), /there is no part "strems"; bench \[--only/)
    assert.throws(() => read("--onyl", "paid"), /where a part is one of paid, streams/)
    assert.throws(() => read("paid"), /where a part is one of paid, streams/)
  })
})
