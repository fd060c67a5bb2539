import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as AnvilHeartbeat from "../../src/testing/AnvilHeartbeat.ts"

interface Node {
  readonly automine?: boolean
  readonly pending?: string
  /** The queued transactions of one account, by number. */
  readonly queued?: Readonly<Record<string, { readonly hash: string }>>
  /** The number of that account's transactions on the chain. */
  readonly count?: string
  /** A transaction that the node refuses. */
  readonly refused?: string
  /** A transaction of which the node knows no bytes. */
  readonly unknown?: string
}

/** A node with prescribed responses, and the commands that it got within a number of beats. */
const doneAfter = (beats: number, node: Node) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { automine = true, count = "0x0", pending = "0x0", queued = {}, refused, unknown } = node
      vi.useFakeTimers()
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.useRealTimers()))
      const done: Array<string> = []
      const answer = (method: string, parameter: string): unknown => {
        switch (method) {
          case "txpool_status":
            return { pending, queued: `0x${Object.keys(queued).length.toString(16)}` }
          case "anvil_getAutomine":
            return automine
          case "txpool_content":
            return { pending: {}, queued: { "0xaccount": queued } }
          case "eth_getTransactionCount":
            return count
          case "eth_getRawTransactionByHash":
            return parameter === unknown ? null : `bytes of ${parameter}`
          default:
            done.push(`${method} ${parameter}`)
            return null
        }
      }
      yield* AnvilHeartbeat.start({
        mine: () => Effect.sync(() => void done.push("mine")),
        request: (method, [first] = []) =>
          Effect.suspend(() => {
            const parameter = String(first)
            const answered = answer(method, parameter)
            return parameter === `bytes of ${refused}` ? Effect.die(new Error("refused")) : Effect.succeed(answered)
          })
      })
      for (let beat = 0; beat < beats; beat++) yield* Effect.promise(() => vi.advanceTimersByTimeAsync(500))
      return done
    })
  )

describe("a node that has forgotten to mine", () => {
  it.effect("mines what has waited for two beats", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* doneAfter(1, { pending: "0x1" }), [])
      assert.deepStrictEqual(yield* doneAfter(2, { pending: "0x1" }), ["mine"])
      assert.deepStrictEqual(yield* doneAfter(4, { pending: "0x2" }), ["mine", "mine"])
    })
  )

  it.effect("is left alone where it mines by hand, and where its pool is empty", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* doneAfter(4, { automine: false, pending: "0x1" }), [])
      assert.deepStrictEqual(yield* doneAfter(4, {}), [])
    })
  )
})

describe("a node that has an account's next transaction wait for one that is mined", () => {
  const queued = { "10": { hash: "b" }, "11": { hash: "c" }, "9": { hash: "a" } }
  const sentAgain = [
    "anvil_removePoolTransactions 0xaccount",
    "eth_sendRawTransaction bytes of a",
    "eth_sendRawTransaction bytes of b",
    "eth_sendRawTransaction bytes of c"
  ]

  it.effect("is sent all of them again, in their order, after two beats", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* doneAfter(1, { queued, count: "0x9" }), [])
      assert.deepStrictEqual(yield* doneAfter(2, { queued, count: "0x9" }), sentAgain)
      assert.deepStrictEqual(yield* doneAfter(2, { queued, count: "0x9", automine: false }), sentAgain)
    })
  )

  it.effect("is sent the others where it refuses one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* doneAfter(2, { queued, count: "0x9", refused: "b" }), sentAgain)
    })
  )

  it.effect("is left alone where it does not tell the bytes of all", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* doneAfter(4, { queued, count: "0x9", unknown: "c" }), [])
    })
  )

  it.effect("is left alone where the next one is really missing, or mined", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* doneAfter(4, { queued, count: "0x8" }), [])
      assert.deepStrictEqual(yield* doneAfter(4, { queued, count: "0xc" }), [])
    })
  )
})
