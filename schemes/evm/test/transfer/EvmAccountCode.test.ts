import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as EvmRpc from "../../src/node/EvmRpc.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmAccountCode from "../../src/transfer/EvmAccountCode.ts"
import * as HostileNode from "../HostileNode.ts"

const account = EvmAddress.fromTail(`0x${"a".repeat(40)}`)
const other = EvmAddress.fromTail(`0x${"b".repeat(40)}`)

/** A node that answers code in this order, then an error. */
const make = Effect.fnUntraced(function* (...codes: ReadonlyArray<string>) {
  const asked = { times: 0 }
  const node = yield* HostileNode.make((response, request, incoming) => {
    const code = codes[asked.times++]
    const answer = code === undefined ? HostileNode.error({ code: -32_603, message: "down" }) : HostileNode.result(code)
    return answer(response, request, incoming)
  })
  const rpc = yield* EvmRpc.make({ url: node.url, network: "eip155:1" })
  // A node that is never behind.
  const { codeOf, forget } = EvmAccountCode.make({ rpc, judge: (ask) => ask("latest"), confirm: (ask) => ask(0n) })
  return { asked, codeOf, forget }
})

describe("EvmAccountCode", () => {
  it.effect("forgets an account that is being deployed", () =>
    Effect.gen(function* () {
      const { codeOf, forget } = yield* make("0x", "0x", "0x60")
      assert.strictEqual(yield* codeOf(account), "0x")
      assert.strictEqual(yield* codeOf(other), "0x")
      forget(account)
      assert.strictEqual(yield* codeOf(account), "0x60")
      assert.strictEqual(yield* codeOf(other), "0x")
    })
  )

  it.effect("remembers for ten seconds that an account is plain, and of that account alone", () =>
    Effect.gen(function* () {
      const { asked, codeOf } = yield* make("0x", "0x", "0x60")
      assert.strictEqual(yield* codeOf(account), "0x")
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(yield* codeOf(account), "0x")
      assert.strictEqual(asked.times, 1)
      assert.strictEqual(yield* codeOf(other), "0x")
      assert.strictEqual(asked.times, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* codeOf(account), "0x60")
    })
  )

  it.effect("asks every time whether an account still has code, and knows nothing without a response", () =>
    Effect.gen(function* () {
      const { codeOf } = yield* make("0x60", "0x")
      assert.strictEqual(yield* codeOf(account), "0x60")
      assert.strictEqual(yield* codeOf(account), "0x")
      assert.strictEqual((yield* Effect.flip(codeOf(other)))._tag, "ChainUnavailable")
    })
  )

  it.effect("keeps no more than a few thousand", () =>
    Effect.gen(function* () {
      const { asked, codeOf } = yield* make(...Array.from({ length: 4098 }, () => "0x"))
      const accounts = Array.from({ length: 4097 }, (_, index) =>
        EvmAddress.fromTail(`0x${`${index}`.padStart(40, "0")}`)
      )
      yield* Effect.forEach(accounts, codeOf, { concurrency: 16, discard: true })
      assert.strictEqual(asked.times, 4097)
      yield* Effect.forEach(accounts.slice(1), codeOf, { discard: true })
      assert.strictEqual(asked.times, 4097)
    })
  )
})
