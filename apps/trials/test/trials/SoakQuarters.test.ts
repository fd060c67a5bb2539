import { assert, describe, it } from "@effect/vitest"

import { type SoakSample, table } from "../../src/trials/SoakQuarters.ts"

const MiB = 1024 * 1024
const total = 100_000

const samples = (change: (part: number, index: number) => Partial<SoakSample>): ReadonlyArray<SoakSample> =>
  Array.from({ length: 100 }, (_, index) => ({
    atMillis: (index + 1) * 1000,
    rss: 300 * MiB,
    heap: 80 * MiB,
    external: 10 * MiB,
    descriptors: 60,
    file: 40 * MiB,
    log: 4 * MiB,
    ...change(index / 100, index)
  }))

describe("a soak's quarters", () => {
  it("are flat where nothing grows after the first", () => {
    const { figures, findings } = table(
      samples((part, index) => ({
        rss: (part < 0.25 ? 200 : 300) * MiB + (index % 7) * MiB,
        heap: (80 + (index % 10) * 20) * MiB,
        file: Math.min(40, part * 80) * MiB
      })),
      total
    )
    assert.isEmpty(findings)
    assert.strictEqual(
      figures["heap after a collection, least, MiB, by quarter"],
      "80.0 / 80.0 / 80.0 / 80.0 (at most 92.0)"
    )
    assert.strictEqual(figures["RSS, median, MiB, by quarter"], "203.0 / 303.0 / 303.0 / 303.0")
    assert.lengthOf(Object.keys(figures), 6)
  })

  it.each([
    ["heap", (part: number) => ({ heap: (80 + 60 * part) * MiB })],
    ["external", (part: number) => ({ external: (10 + 20 * part) * MiB })],
    ["descriptors", (part: number) => ({ descriptors: 60 + 60 * part })],
    ["file", (part: number) => ({ file: 40 * part * MiB })],
    ["log", (part: number) => ({ log: 40 * part * MiB })]
  ] as const)("tell of growth of %s", (_, change) => {
    const { findings } = table(samples(change), total)
    assert.deepStrictEqual(
      findings.map(({ check }) => check),
      ["growth"]
    )
  })

  it("show resident memory without a bound", () => {
    const { figures, findings } = table(
      samples((part) => ({ rss: (300 + 200 * part) * MiB })),
      total
    )
    assert.isEmpty(findings)
    assert.notInclude(figures["RSS, median, MiB, by quarter"], "at most")
  })

  it("tell of a quarter without measurements", () => {
    const { findings } = table(samples(() => ({})).slice(0, 70), total)
    assert.isTrue(findings.every(({ check }) => check === "unmeasured") && findings.length === 6)
    assert.strictEqual(table([], total).findings[0]?.check, "unmeasured")
  })

  it("say nothing of what is not measured", () => {
    const { figures, findings } = table(
      samples(() => ({})).map(({ file: _file, log: _log, ...rest }) => rest),
      total
    )
    assert.isEmpty(findings)
    assert.lengthOf(Object.keys(figures), 4)
  })
})
