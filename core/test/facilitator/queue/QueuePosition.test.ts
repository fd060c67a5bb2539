import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as QueuePosition from "../../../src/facilitator/queue/QueuePosition.ts"

const share = (caller: string, payer: string, waiting: number) => ({ caller, payer, waiting })

describe("a payment's turn", () => {
  it("comes after one of each other caller, and after the others of its own", () => {
    const shares = [share("loud", "a", 40), share("loud", "b", 40), share("quiet", "c", 1)]
    assert.strictEqual(QueuePosition.before(shares, { caller: "new", payer: "d" }), 2)
    assert.strictEqual(QueuePosition.before(shares, { caller: "quiet", payer: "d" }), 1 + 2)
    assert.strictEqual(QueuePosition.before(shares, { caller: "quiet", payer: "c" }), 1 + 2)
    assert.strictEqual(QueuePosition.before(shares, { caller: "loud", payer: "a" }), 40 + 40 + 1)
    assert.strictEqual(QueuePosition.before(shares, { caller: "loud", payer: "new" }), 2 + 1)
  })

  it("is the first where none waits", () => {
    assert.strictEqual(QueuePosition.before([], { caller: "a", payer: "b" }), 0)
  })
})

/** The order in which payments leave a queue when callers take turns, and the payers of each. */
const orderOfLeaving = (shares: ReadonlyArray<{ caller: string; payer: string; waiting: number }>) => {
  const payments = shares.flatMap(({ caller, payer, waiting }) =>
    Array.from({ length: waiting }, (_, place) => ({ caller, payer, place }))
  )
  const own = payments.toSorted((a, b) => a.place - b.place)
  const turns = new Map<string, number>()
  return own
    .map((one) => {
      const turn = turns.get(one.caller) ?? 0
      turns.set(one.caller, turn + 1)
      return { one, turn }
    })
    .toSorted((a, b) => a.turn - b.turn)
    .map(({ one }) => one)
}

it("is never earlier than what the turns of the queue make of it, and at most a turn of each later", () => {
  const name = fc.constantFrom("a", "b", "c")
  const shares = fc
    .uniqueArray(fc.tuple(name, name), { selector: (pair) => pair.join(), maxLength: 9 })
    .chain((pairs) =>
      fc.tuple(...pairs.map(([caller, payer]) => fc.integer({ min: 1, max: 9 }).map((n) => share(caller, payer, n))))
    )
  fc.assert(
    fc.property(shares, name, name, (all, caller, payer) => {
      const estimate = QueuePosition.before(all, { caller, payer })
      const known = all.find((one) => one.caller === caller && one.payer === payer)
      const others = all.filter((one) => one !== known)
      const order = orderOfLeaving([...others, share(caller, payer, (known?.waiting ?? 0) + 1)])
      const mine = order.findLastIndex((one) => one.caller === caller && one.payer === payer)
      assert.isAtLeast(estimate, mine - all.length)
      assert.isAtMost(estimate, mine + all.length + 1)
    })
  )
})
