import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as EvmChainHead from "../../src/node/EvmChainHead.ts"
import * as EvmRpc from "../../src/node/EvmRpc.ts"
import * as HostileNode from "../HostileNode.ts"

const nothing = `0x${"0".repeat(64)}`
const block = (number: number, fields: object = { baseFeePerGas: "0xa" }) => ({
  number: `0x${number.toString(16)}`,
  hash: nothing,
  timestamp: "0x1",
  ...fields
})

/** The chain head of a node whose head is the number of its requests, and which responds on release. */
const make = Effect.fnUntraced(function* (answer: (asked: number) => unknown = block, options?: EvmChainHead.Options) {
  const asked = { blocks: 0, tips: 0 }
  let gate: Promise<unknown> = Promise.resolve()
  const node = yield* HostileNode.make((response, request, incoming) => {
    const result =
      request.method === "eth_maxPriorityFeePerGas" ? `0x${(++asked.tips).toString(16)}` : answer(++asked.blocks)
    void gate.then(() => HostileNode.result(result)(response, request, incoming))
  })
  const chainHead = EvmChainHead.make(yield* EvmRpc.make({ url: node.url, network: "eip155:1" }), options)
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    return resolve
  }
  return { asked, hold, chainHead }
})

describe("EvmChainHead", () => {
  it.effect("shows the head and what is final, and offers twice the base fee and the tip", () =>
    Effect.gen(function* () {
      const { chainHead } = yield* make()
      assert.deepStrictEqual(yield* chainHead, {
        head: { number: 1n, hash: nothing, time: 1 },
        final: 0n,
        fees: { maximum: 21n, priority: 1n, ceiling: EvmChainHead.defaultMaxFeePerGas }
      })
    })
  )

  it.effect("counts what is final from the head, never below the first block", () =>
    Effect.gen(function* () {
      for (const [head, finalityDepth, final] of [
        [100, undefined, 36n],
        [64, undefined, 0n],
        [63, undefined, 0n],
        [100, 0, 100n],
        [100, 12, 88n],
        [10, 12, 0n]
      ] as const) {
        const { chainHead } = yield* make(() => block(head), finalityDepth === undefined ? {} : { finalityDepth })
        assert.strictEqual((yield* chainHead).final, final, `${head} ${finalityDepth}`)
      }
    })
  )

  it.effect("offers no more than its ceiling where that buys a place, and shows a chain that is dearer", () =>
    Effect.gen(function* () {
      const baseFee = 10n
      for (const [maxFeePerGas, maximum, isTooDear] of [
        [21n, 21n, false],
        [20n, 20n, false],
        [15n, 15n, false],
        [11n, 11n, false],
        [10n, 21n, true],
        [1n, 21n, true]
      ] as const) {
        const { chainHead } = yield* make(() => block(1, { baseFeePerGas: `0x${baseFee.toString(16)}` }), {
          maxFeePerGas
        })
        const { fees } = yield* chainHead
        assert.deepStrictEqual(fees, { maximum, priority: 1n, ceiling: maxFeePerGas })
        assert.strictEqual(maximum > maxFeePerGas, isTooDear)
      }
      const greedy = yield* make(() => block(1, { baseFeePerGas: `0x${(10n ** 15n).toString(16)}` }))
      const { fees } = yield* greedy.chainHead
      assert.isTrue(fees !== undefined && fees.maximum > fees.ceiling)
    })
  )

  it.effect("is shared: everybody who asks while it is asked gets the next one, never an older", () =>
    Effect.gen(function* () {
      const { asked, hold, chainHead } = yield* make()
      const release = hold()
      const first = yield* Effect.forkChild(chainHead, { startImmediately: true })
      const others = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
        Effect.forkChild(chainHead, { startImmediately: true })
      )
      release()
      assert.strictEqual((yield* Fiber.join(first)).head.number, 1n)
      const heads = yield* Effect.forEach(others, (fiber) => Effect.map(Fiber.join(fiber), ({ head }) => head.number))
      assert.deepStrictEqual(heads, [2n, 2n, 2n, 2n, 2n])
      assert.strictEqual(asked.blocks, 2)
    })
  )

  it.effect("asks for the tip every ten seconds, for the head every time", () =>
    Effect.gen(function* () {
      const { asked, chainHead } = yield* make()
      yield* chainHead
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* chainHead).fees?.priority, 1n)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* chainHead).fees?.priority, 2n)
      assert.deepStrictEqual(asked, { blocks: 3, tips: 2 })
    })
  )

  it.effect("is not to be had where there is no base fee or no block, and is asked again the next time", () =>
    Effect.gen(function* () {
      const answers = [block(1, {}), null, block(3)]
      const { chainHead } = yield* make((asked) => answers[asked - 1])
      assert.strictEqual((yield* Effect.flip(chainHead))._tag, "ChainUnavailable")
      assert.strictEqual((yield* Effect.flip(chainHead))._tag, "ChainUnavailable")
      assert.strictEqual((yield* chainHead).head.number, 3n)
    })
  )

  it.effect("goes on for the others when one who asked goes away", () =>
    Effect.gen(function* () {
      const { hold, chainHead } = yield* make()
      const release = hold()
      const first = yield* Effect.forkChild(chainHead, { startImmediately: true })
      const second = yield* Effect.forkChild(chainHead, { startImmediately: true })
      yield* Fiber.interrupt(first)
      release()
      assert.strictEqual((yield* Fiber.join(second)).head.number, 2n)
    })
  )
})
