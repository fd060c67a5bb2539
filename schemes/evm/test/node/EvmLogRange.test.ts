import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as EvmLogRange from "../../src/node/EvmLogRange.ts"
import * as EvmNodeError from "../../src/node/EvmNodeError.ts"

/** Words of nodes and providers that refuse ranges, the width that was asked for, and what is asked for next. */
const refusals: ReadonlyArray<readonly [string, bigint, bigint]> = [
  ["exceed maximum block range: 50", 1000n, 50n],
  ["eth_getLogs is limited to a 10,000 range", 50_000n, 10_000n],
  ["block range is too wide (maximum 1024)", 5_000n, 1024n],
  ["range is too large, max is 1k blocks", 5_000n, 1000n],
  ["ranges over 800 blocks are not supported on freetier", 1000n, 800n],
  ["query exceeds max block range 100000", 1_000_000n, 100_000n],
  [
    "You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters, this block range should work: [0xf4240, 0xf4628]",
    5_000n,
    2000n
  ],
  ["query returned more than 10000 results. Try with this block range [0x1, 0x2].", 1000n, 500n],
  ["Block range limit exceeded. See more details at https://docs.example/docs/limits#evm-range-limits.", 1000n, 500n],
  ["Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.", 500n, 10n],
  ["Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.", 1000n, 500n],
  ["response size exceeded", 3n, 1n],
  ["response size exceeded", 1n, 1n]
]

/** A node with an event in every block, which accepts `most` blocks in one request. */
const nodeOf = (most: () => bigint, message = "exceed maximum block range: ", fails: () => boolean = () => false) => {
  const asked: Array<readonly [bigint, bigint]> = []
  const ask = EvmLogRange.make("eip155:1", (_: undefined, from, to) =>
    Effect.suspend(() => {
      asked.push([from, to])
      return fails()
        ? Effect.fail(new ChainUnavailable({ network: "eip155:1", message: "no response" }))
        : Effect.succeed(answerAbout(from, to))
    })
  )
  const answerAbout = (from: bigint, to: bigint): EvmLogRange.RangeResponse<bigint> => {
    if (to - from + 1n > most()) return { _tag: "TooWide", message: `${message}${most()}` }
    return {
      _tag: "Found",
      logs: Array.from({ length: Number(to - from + 1n) }, (__, index) => from + BigInt(index))
    }
  }
  return { ask: ask(undefined), asked }
}

const numbers = (from: bigint, to: bigint) =>
  Array.from({ length: Number(to - from + 1n) }, (_, at) => from + BigInt(at))

const refusal = (code: number, message: string) => ({ code, message, rawMessage: message, data: undefined })

describe("EvmLogRange", () => {
  for (const [message, width, next] of refusals) {
    it(`asks for ${next} blocks after ${width} were refused: ${message.slice(0, 60)}`, () => {
      assert.strictEqual(EvmLogRange.narrower(width, message), next)
      assert.strictEqual(EvmNodeError.toTooWide(refusal(-32_005, message))?._tag, "TooWide")
    })
  }

  it("takes no refusal for one of a width that fewer blocks would not mend", () => {
    for (const message of [
      "rate limit exceeded",
      "daily request count exceeded, request rate limited",
      "Your app has exceeded its compute units per second capacity",
      "block range extends beyond current head block",
      "header not found",
      "unknown block"
    ])
      assert.isUndefined(EvmNodeError.toTooWide(refusal(-32_000, message)), message)
    assert.isUndefined(EvmNodeError.toTooWide(refusal(-32_601, "no such method")))
  })

  it.effect("finds every event once and in order, whatever a node takes, and learns it from one refusal", () =>
    Effect.gen(function* () {
      for (const most of [1n, 7n, 50n, 999n, 1000n, 5000n]) {
        const { ask, asked } = nodeOf(() => most)
        assert.deepStrictEqual(yield* ask(11n, 1010n), numbers(11n, 1010n))
        const refused = asked.filter(([from, to]) => to - from + 1n > most).length
        assert.isAtMost(refused, most === 1n ? 10 : 5, `${most}`)
        asked.length = 0
        assert.deepStrictEqual(yield* ask(1n, 200n), numbers(1n, 200n))
        assert.isTrue(asked.every(([from, to]) => to - from + 1n <= most))
      }
    })
  )

  it.effect("forgets after ten minutes what it has learned", () =>
    Effect.gen(function* () {
      let most = 10n
      const { ask, asked } = nodeOf(() => most)
      yield* ask(1n, 100n)
      most = 1000n
      asked.length = 0
      yield* ask(1n, 100n)
      assert.lengthOf(asked, 10)
      yield* TestClock.adjust(Duration.minutes(10))
      asked.length = 0
      yield* ask(1n, 100n)
      assert.deepStrictEqual(asked, [[1n, 100n]])
    })
  )

  it.effect("learns nothing from a node that refuses everything", () =>
    Effect.gen(function* () {
      let most = 0n
      const { ask, asked } = nodeOf(() => most, "no ")
      const error = yield* Effect.flip(ask(1n, 1000n))
      assert.instanceOf(error, ChainUnavailable)
      assert.isAtMost(asked.length, 11)
      most = 1000n
      asked.length = 0
      yield* ask(1n, 1000n)
      assert.deepStrictEqual(asked, [[1n, 1000n]])
    })
  )

  it.effect("goes on where a failing node has interrupted a search, over several ranges", () =>
    Effect.gen(function* () {
      let questions = 0
      const { ask, asked } = nodeOf(
        () => 10n,
        undefined,
        () => ++questions % 20 === 0
      )
      const strides = [
        [1n, 100n],
        [101n, 300n],
        [301n, 1000n]
      ] as const
      const search = Effect.map(
        Effect.forEach(strides, ([from, to]) => ask(from, to)),
        (found) => found.flat()
      )
      let interruptions = 0
      const found = yield* Effect.retry(
        Effect.tapError(search, () => Effect.sync(() => void interruptions++)),
        { times: 20 }
      )
      assert.deepStrictEqual(found, numbers(1n, 1000n))
      assert.isAtLeast(interruptions, 5)
      // Each block once, and again those of a question that has failed; a refusal or two for the width.
      assert.isAtMost(asked.length, 100 + interruptions + 5)
    })
  )

  it.effect("asks anew when a search has come to its end, and ten minutes after an interrupted one began", () =>
    Effect.gen(function* () {
      let fails = false
      const { ask, asked } = nodeOf(
        () => 10n,
        undefined,
        () => fails
      )
      yield* ask(1n, 50n)
      asked.length = 0
      yield* ask(1n, 50n)
      assert.lengthOf(asked, 5)
      fails = true
      yield* Effect.flip(ask(51n, 60n))
      fails = false
      asked.length = 0
      yield* ask(1n, 50n)
      assert.lengthOf(asked, 0)
      yield* TestClock.adjust(Duration.minutes(10))
      yield* ask(1n, 50n)
      assert.isAtLeast(asked.length, 5)
    })
  )

  it.effect("asks nothing about an empty range", () =>
    Effect.gen(function* () {
      const { ask, asked } = nodeOf(() => 10n)
      assert.deepStrictEqual(yield* ask(5n, 4n), [])
      assert.lengthOf(asked, 0)
    })
  )
})
