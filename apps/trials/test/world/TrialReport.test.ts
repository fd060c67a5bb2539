import { assert, describe, it } from "@effect/vitest"

import { toText } from "../../src/world/TrialReport.ts"

const options = { store: "sqlite", seed: "7", size: 3, mutation: undefined } as const
const report = { goal: "G0", title: "nothing", options, figures: { kills: 3 }, findings: [] }

const lastLine = (text: string): unknown => JSON.parse(text.split("\n").at(-1) ?? "")

describe("a report", () => {
  it("of a promise that was kept says so, for people and for programs", () => {
    const text = toText(report)
    assert.match(text, /kills +3/)
    assert.match(text, /\n {2}kept\n/)
    assert.deepStrictEqual(lastLine(text), {
      goal: "G0",
      ok: true,
      store: "sqlite",
      seed: "7",
      size: 3,
      figures: { kills: 3 },
      broken: {}
    })
  })

  it("of a promise that was broken counts each kind, and shows some of each", () => {
    const findings = [
      ...Array.from({ length: 50 }, (_, index) => ({ check: "many", detail: `number ${index}` })),
      { check: "one", detail: "alone" }
    ]
    const text = toText({ ...report, findings })
    assert.match(text, /BROKEN: many 50, one 1/)
    assert.include(text, "! one: alone")
    assert.notInclude(text, "number 49")
    assert.deepInclude(lastLine(text) as object, { ok: false, broken: { many: 50, one: 1 } })
  })

  it("of a promise that was broken shows what the processes wrote, and another does not", () => {
    const log = Array.from({ length: 400 }, (_, index) => `line ${index}.`)
    const withOutput = { ...report, options: { ...options, outputs: [{ url: "http://shop", log }] } }
    assert.notInclude(toText(withOutput), "line 399.")
    const text = toText({ ...withOutput, findings: [{ check: "one", detail: "alone" }] })
    assert.include(text, "http://shop")
    assert.include(text, "line 399.")
    assert.notInclude(text, "line 200.")
    assert.notInclude(text.split("\n").at(-1), "line")
  })
})
