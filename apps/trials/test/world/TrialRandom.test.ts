import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as TrialRandom from "../../src/world/TrialRandom.ts"

const words = (random: TrialRandom.TrialRandom, count = 50) => Array.from({ length: count }, random.word)

describe("chance from a seed", () => {
  it("is the same for the same seed, and another for another", () => {
    assert.deepStrictEqual(words(TrialRandom.make("1")), words(TrialRandom.make("1")))
    assert.notDeepEqual(words(TrialRandom.make("1")), words(TrialRandom.make("2")))
    assert.strictEqual(new Set(words(TrialRandom.make("1"), 1000)).size, 1000)
  })

  it("branches do not depend on what was drawn before", () => {
    const used = TrialRandom.make("seed")
    words(used)
    assert.deepStrictEqual(words(used.branch("a")), words(TrialRandom.make("seed").branch("a")))
    assert.notDeepEqual(words(used.branch("a")), words(used.branch("b")))
  })

  it("stays in its bounds and reaches all of them", () =>
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: -20, max: 20 }), fc.nat(20), (seed, first, width) => {
        const random = TrialRandom.make(seed)
        const drawn = Array.from({ length: 500 }, () => random.between(first, first + width))
        for (const one of drawn) assert.isTrue(Number.isInteger(one) && one >= first && one <= first + width)
        assert.strictEqual(new Set(drawn).size, width + 1)
      })
    ))

  it("hits about as often as it is asked to", () => {
    const random = TrialRandom.make("often")
    const hits = Array.from({ length: 10_000 }, () => random.perMille(250)).filter(Boolean).length
    assert.isTrue(hits > 2250 && hits < 2750, `${hits}`)
    assert.isFalse(Array.from({ length: 1000 }, () => random.perMille(0)).includes(true))
    assert.isFalse(Array.from({ length: 1000 }, () => random.perMille(1000)).includes(false))
  })

  it("picks every member of a list", () => {
    const random = TrialRandom.make("list")
    assert.deepStrictEqual(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b", "c"]))), new Set("abc"))
    assert.throws(() => random.pick([]))
  })
})
