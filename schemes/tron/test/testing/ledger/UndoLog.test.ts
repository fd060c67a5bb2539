import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import { JournaledMap, UndoLog } from "../../../src/testing/ledger/UndoLog.ts"

describe("a map on a log", () => {
  it("has after a rollback the entries of the mark, after any changes", () => {
    const key = fc.constantFrom("a", "b", "c")
    const action = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), key, value: fc.nat(9) }),
      fc.record({ kind: fc.constant("delete" as const), key, value: fc.constant(0) })
    )
    const actions = fc.array(action, { maxLength: 20 })
    fc.assert(
      fc.property(actions, actions, actions, (before, between, after) => {
        const log = new UndoLog()
        const map = new JournaledMap<string, number>(log)
        const play = (each: ReadonlyArray<typeof action extends fc.Arbitrary<infer A> ? A : never>) => {
          for (const { key: name, kind, value } of each) {
            if (kind === "set") map.set(name, value)
            else map.delete(name)
          }
        }
        const shown = () => [...map.keys()].toSorted().map((name) => [name, map.get(name)])
        play(before)
        const [first, was] = [log.mark(), shown()]
        play(between)
        const [second, then] = [log.mark(), shown()]
        play(after)
        log.rollback(second)
        assert.deepStrictEqual(shown(), then)
        log.rollback(first)
        assert.deepStrictEqual(shown(), was)
      })
    )
  })

  it("cannot be rolled back behind a forgotten mark", () => {
    const log = new UndoLog()
    const map = new JournaledMap<string, number>(log)
    map.set("a", 1)
    const mark = log.mark()
    map.set("b", 2)
    log.forget(mark)
    assert.strictEqual(log.mark(), 2)
    log.rollback(0)
    assert.strictEqual(map.get("a"), 1)
    assert.isUndefined(map.get("b"))
    assert.strictEqual(log.mark(), mark)
  })
})
