import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as SchemeRegistry from "../../src/scheme/SchemeRegistry.ts"
import * as TestScheme from "../../src/testing/TestScheme.ts"

const half = (network: string | undefined, name = "exact", family = "ledger") => ({
  scheme: { ...TestScheme.scheme, name, family },
  network
})
const made = (...halves: ReadonlyArray<SchemeRegistry.Registrable>) => Result.getOrThrow(SchemeRegistry.make(halves))
const refused = (...halves: ReadonlyArray<SchemeRegistry.Registrable>) =>
  Result.getOrThrow(Result.flip(SchemeRegistry.make(halves))).message

describe("make", () => {
  it("finds each half by scheme and network, and nothing else", () => {
    const one = half("ledger:one")
    const two = half("ledger:two")
    const upto = half("ledger:one", "upto")
    const registry = made(one, two, upto)
    assert.strictEqual(registry.find("exact", "ledger:one"), one)
    assert.strictEqual(registry.find("exact", "ledger:two"), two)
    assert.strictEqual(registry.find("upto", "ledger:one"), upto)
    assert.isUndefined(registry.find("upto", "ledger:two"))
    assert.isUndefined(registry.find("exact", "ledger"))
    assert.isUndefined(registry.find("exact", "ledger:three"))
    assert.isUndefined(registry.find("", ""))
    assert.deepStrictEqual(registry.halves, [one, two, upto])
  })

  it("finds a half without a network by its family alone", () => {
    const open = half(undefined)
    const fixed = half("ledger:one")
    const registry = made(open, fixed)
    assert.strictEqual(registry.findOpen("exact", "ledger"), open)
    assert.isUndefined(registry.findOpen("exact", "other"))
    assert.isUndefined(registry.findOpen("upto", "ledger"))
    assert.strictEqual(registry.find("exact", "ledger:one"), fixed)
  })

  it("refuses two halves for one scheme and network, and says which", () => {
    assert.include(refused(half("ledger:one"), half("ledger:one")), '"exact" is given twice for ledger:one')
    assert.include(refused(half(undefined), half(undefined)), "twice for ledger")
  })

  it("refuses an empty list", () => assert.include(refused(), "at least one scheme"))
})
