import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as FairShare from "../../../src/facilitator/queue/FairShare.ts"

let serials = 0n

const one = (caller: string, payer: string): FairShare.Sharer => ({
  caller,
  serial: ++serials,
  authorization: { payer }
})

const many = (count: number, caller: string, payer: string) => Array.from({ length: count }, () => one(caller, payer))

const nobody: FairShare.PendingPayments = { ofPayers: [], ofCallers: [] }
const limits = { payer: 8, caller: 128 }
const namesOf = (all: ReadonlyArray<FairShare.Sharer>) =>
  all.map(({ authorization, caller }) => `${caller}/${authorization.payer}`)

describe("choose", () => {
  it("leaves the order alone where all find room and there are no limits", () => {
    const waiting = [...many(5, "a", "loud"), one("b", "quiet")]
    assert.strictEqual(FairShare.choose(waiting, 6, nobody, undefined), waiting)
  })

  it("has callers take turns, and the payers of each, the oldest first", () => {
    const waiting = [...many(3, "a", "loud"), one("a", "calm"), one("b", "quiet"), ...many(2, "c", "late")]
    assert.deepStrictEqual(namesOf(FairShare.choose(waiting, 6, nobody, undefined)), [
      "a/loud",
      "b/quiet",
      "c/late",
      "a/calm",
      "c/late",
      "a/loud"
    ])
  })

  it("counts what is in transaction already", () => {
    const waiting = [...many(2, "a", "loud"), one("a", "calm"), one("b", "quiet")]
    const pending = { ofPayers: many(1, "a", "loud"), ofCallers: many(1, "a", "loud") }
    assert.deepStrictEqual(namesOf(FairShare.choose(waiting, 2, pending, undefined)), ["b/quiet", "a/calm"])
  })

  it("lets no payer have more than its limit, through whatever callers", () => {
    const waiting = [...many(5, "a", "loud"), ...many(5, "b", "loud"), one("a", "calm")]
    const pending = { ofPayers: many(5, "c", "loud"), ofCallers: many(5, "c", "loud") }
    const chosen = namesOf(FairShare.choose(waiting, 100, pending, limits))
    assert.strictEqual(chosen.filter((name) => name.endsWith("loud")).length, 3)
    assert.include(chosen, "a/calm")
  })

  it("lets no caller have more than its limit, but the nameless one is everybody", () => {
    const waiting = Array.from({ length: 300 }, (_, index) => one("a", `payer-${index}`))
    assert.lengthOf(FairShare.choose(waiting, 256, nobody, limits), 128)
    const nameless = Array.from({ length: 300 }, (_, index) => one("", `payer-${index}`))
    assert.lengthOf(FairShare.choose(nameless, 256, nobody, limits), 256)
  })

  it("never makes a payment wait for more than its share of others", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(3), fc.nat(5)), { maxLength: 60 }),
        fc.array(fc.tuple(fc.nat(3), fc.nat(5)), { maxLength: 30 }),
        fc.nat(60),
        fc.boolean(),
        (waits, flies, most, limited) => {
          const waiting = waits.map(([caller, payer]) => one(`${caller}`, `${payer}`))
          const flying = flies.map(([caller, payer]) => one(`${caller}`, `${payer}`))
          const bounds = limited ? { payer: 3, caller: 7 } : undefined
          const chosen = FairShare.choose(waiting, most, { ofPayers: flying, ofCallers: flying }, bounds)
          assert.isTrue(
            chosen.length <= Math.max(most, limited ? 0 : waiting.length) && new Set(chosen).size === chosen.length
          )
          if (chosen.length > most) assert.fail("more than there is room for")
          for (const kind of ["payer", "caller"] as const) {
            const keyOf = (payment: FairShare.Sharer) =>
              kind === "payer" ? payment.authorization.payer : payment.caller
            for (const key of new Set(chosen.map(keyOf))) {
              const before = flying.filter((payment) => keyOf(payment) === key).length
              const now = before + chosen.filter((payment) => keyOf(payment) === key).length
              if (bounds !== undefined) assert.isTrue(now <= Math.max(before, bounds[kind]))
            }
          }
          if (bounds === undefined) assert.lengthOf(chosen, Math.min(most, waiting.length))
          // A caller that still waits has no fewer in transaction than any other gets, but for one.
          const total = (caller: string) => [...flying, ...chosen].filter((payment) => payment.caller === caller).length
          if (bounds !== undefined || chosen.length === waiting.length) return
          for (const left of waiting.filter((payment) => !chosen.includes(payment))) {
            for (const { caller } of chosen) assert.isTrue(total(caller) <= total(left.caller) + 1)
          }
        }
      )
    )
  })
})
