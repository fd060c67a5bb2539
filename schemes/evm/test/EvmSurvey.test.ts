import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as EvmRpc from "../src/EvmRpc.ts"
import * as EvmSurvey from "../src/EvmSurvey.ts"
import * as HostileNode from "./HostileNode.ts"

const nothing = `0x${"0".repeat(64)}`
const block = (number: number, fields: object = { baseFeePerGas: "0xa" }) => ({
  number: `0x${number.toString(16)}`,
  hash: nothing,
  timestamp: "0x1",
  ...fields
})

/** A survey of a node whose head is the number of times it was asked for it, and which answers when it is let. */
const make = Effect.fnUntraced(function* (answer: (asked: number) => unknown = block, maxFeePerGas?: bigint) {
  const asked = { blocks: 0, tips: 0 }
  let gate: Promise<unknown> = Promise.resolve()
  const node = yield* HostileNode.make((response, request, incoming) => {
    const result =
      request.method === "eth_maxPriorityFeePerGas" ? `0x${(++asked.tips).toString(16)}` : answer(++asked.blocks)
    void gate.then(() => HostileNode.result(result)(response, request, incoming))
  })
  const survey = EvmSurvey.make(yield* EvmRpc.make({ url: node.url, network: "eip155:1" }), maxFeePerGas)
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    return resolve
  }
  return { asked, hold, survey }
})

describe("EvmSurvey", () => {
  it.effect("offers twice the base fee and the tip", () =>
    Effect.gen(function* () {
      const { survey } = yield* make()
      assert.deepStrictEqual(yield* survey, { head: 1n, fees: { maximum: 21n, priority: 1n } })
    })
  )

  it.effect("never offers more than it may, and is not to be had where that is too little", () =>
    Effect.gen(function* () {
      const capped = yield* make(block, 15n)
      assert.deepStrictEqual((yield* capped.survey).fees, { maximum: 15n, priority: 1n })
      const tooLow = yield* make(block, 10n)
      assert.strictEqual((yield* Effect.flip(tooLow.survey))._tag, "ChainUnavailable")
      const greedy = yield* make(() => block(1, { baseFeePerGas: `0x${(10n ** 15n).toString(16)}` }))
      assert.strictEqual((yield* Effect.flip(greedy.survey))._tag, "ChainUnavailable")
    })
  )

  it.effect("is shared: everybody who asks while it is asked gets the next one, never an older", () =>
    Effect.gen(function* () {
      const { asked, hold, survey } = yield* make()
      const release = hold()
      const first = yield* Effect.forkChild(survey, { startImmediately: true })
      const others = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.forkChild(survey, { startImmediately: true }))
      release()
      assert.strictEqual((yield* Fiber.join(first)).head, 1n)
      const heads = yield* Effect.forEach(others, (fiber) => Effect.map(Fiber.join(fiber), ({ head }) => head))
      assert.deepStrictEqual(heads, [2n, 2n, 2n, 2n, 2n])
      assert.strictEqual(asked.blocks, 2)
    })
  )

  it.effect("asks for the tip every ten seconds, for the head every time", () =>
    Effect.gen(function* () {
      const { asked, survey } = yield* make()
      yield* survey
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* survey).fees?.priority, 1n)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* survey).fees?.priority, 2n)
      assert.deepStrictEqual(asked, { blocks: 3, tips: 2 })
    })
  )

  it.effect("is not to be had where there is no base fee or no block, and is asked again the next time", () =>
    Effect.gen(function* () {
      const answers = [block(1, {}), null, block(3)]
      const { survey } = yield* make((asked) => answers[asked - 1])
      assert.strictEqual((yield* Effect.flip(survey))._tag, "ChainUnavailable")
      assert.strictEqual((yield* Effect.flip(survey))._tag, "ChainUnavailable")
      assert.strictEqual((yield* survey).head, 3n)
    })
  )

  it.effect("goes on for the others when one who asked goes away", () =>
    Effect.gen(function* () {
      const { hold, survey } = yield* make()
      const release = hold()
      const first = yield* Effect.forkChild(survey, { startImmediately: true })
      const second = yield* Effect.forkChild(survey, { startImmediately: true })
      yield* Fiber.interrupt(first)
      release()
      assert.strictEqual((yield* Fiber.join(second)).head, 2n)
    })
  )
})
