/** Routes whose quotes follow price feeds on both chains. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { concatHex, type Hex, numberToHex } from "viem"

import * as RoutedSchemes from "../../src/bridge/RoutedSchemes.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

const feed = "0x00000000000000000000000000000000000feed0"

/**
 * The code of a feed with 8 decimals and two rounds: `decimals()` returns 8, `getRoundData(uint80)` the first round, and every other call
 * the second one.
 */
const codeOf = (price: bigint, updatedAt: number, before: bigint): Hex =>
  concatHex([
    "0x5f3560e01c8063313ce56714609157639a6fc8f514603f57",
    "0x7f",
    numberToHex(price, { size: 32, signed: true }),
    "0x602052606456",
    "0x5b7f",
    numberToHex(before, { size: 32, signed: true }),
    "0x602052",
    "0x5b7f",
    numberToHex(updatedAt, { size: 32 }),
    "0x60605260025f52",
    "0x60a05ff3",
    "0x5b60085f5260205ff3"
  ])

/** A dollar, by a feed. */
const dollar = 10n ** 8n

const opened = Effect.gen(function* () {
  const routed = yield* RoutedPayments.make()
  const { first, second } = routed
  const chains = { near: first, far: second }
  const now = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))
  const show = Effect.fnUntraced(function* (
    at: keyof typeof chains,
    dollars: bigint,
    { before = dollars, secondsAgo = 0 }: { readonly before?: bigint; readonly secondsAgo?: number } = {}
  ) {
    const bytecode = codeOf(dollars * dollar, (yield* now) - secondsAgo, before * dollar)
    yield* Effect.promise(() => chains[at].client.setCode({ address: feed, bytecode }))
  })
  yield* show("near", 3_000n)
  yield* show("far", 3_000n)
  const start = RoutedSchemes.make(routed, { finalityDepth: RoutedPayments.finalityDepth, price: feed }).facilitator
  return { ...routed, show, start }
})

const wordOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => ("detail" in error ? String(error.detail) : error._tag)
  })

describe("routes by price feeds", () => {
  it.live("are quoted and verified by the prices of that moment, and by none that is old", () =>
    Effect.gen(function* () {
      const { client, first, offer: fixed, offerBy, second, show, start } = yield* opened
      const facilitator = yield* start
      const offer = yield* offerBy(facilitator)
      assert.strictEqual(offer.maxAmountRequired, (yield* fixed).maxAmountRequired)
      const buyer = client(first.accounts.payers[0])
      const asset = buyer.asset(offer)
      if (asset === undefined) return assert.fail("the buyer does not know the token")
      const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
      const terms = { requirements: offer, asset, validAfter: 0, validBefore, binding: undefined }
      const { payload } = yield* buyer.sign(terms)
      const verified = wordOf(
        Effect.flatMap(facilitator.read(offer, payload), (payment) => facilitator.verify(payment))
      )
      for (const chain of ["near", "far"] as const) {
        assert.strictEqual(yield* verified, "ok")
        yield* show(chain, 30_000n)
        assert.strictEqual(yield* verified, "route_fee")
        yield* show(chain, 3_000n, { secondsAgo: 90_100 })
        assert.strictEqual(yield* verified, "ChainUnavailable")
        const late = yield* start
        assert.deepStrictEqual(yield* late.quotes ?? Effect.succeed([]), [])
        const [left] = yield* late.unquoted ?? Effect.succeed([])
        assert.strictEqual(left?.network, second.network)
        assert.strictEqual(left?.reason, "price_unknown")
        yield* show(chain, 3_000n, { secondsAgo: 89_000 })
      }
      assert.strictEqual(yield* verified, "ok")
    })
  )

  it.live("are neither quoted nor verified by a price that has jumped since the round before", () =>
    Effect.gen(function* () {
      const { client, first, offerBy, show, start } = yield* opened
      const facilitator = yield* start
      const offer = yield* offerBy(facilitator)
      const buyer = client(first.accounts.payers[0])
      const asset = buyer.asset(offer)
      if (asset === undefined) return assert.fail("the buyer does not know the token")
      const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
      const { payload } = yield* buyer.sign({
        requirements: offer,
        asset,
        validAfter: 0,
        validBefore,
        binding: undefined
      })
      const verified = wordOf(
        Effect.flatMap(facilitator.read(offer, payload), (payment) => facilitator.verify(payment))
      )
      for (const chain of ["near", "far"] as const) {
        // A fifth is the bound: at it and within it a price is taken.
        yield* show(chain, 3_000n, { before: 2_500n })
        assert.strictEqual(yield* verified, "ok")
        for (const before of [2_499n, 3_751n, 30n, -1n]) {
          const late = yield* Effect.tap(start, () => show(chain, 3_000n, { before }))
          assert.deepStrictEqual(yield* late.quotes ?? Effect.succeed([]), [], `from ${before} dollars`)
          assert.strictEqual((yield* late.unquoted ?? Effect.succeed([]))[0]?.reason, "price_unknown")
          // Where the feed does not show the round before, the price is compared with the last one that was taken.
          assert.strictEqual(yield* verified, before < 0n ? "ok" : "ChainUnavailable")
        }
        yield* show(chain, 3_000n)
      }
      assert.strictEqual(yield* verified, "ok")
    })
  )

  it.live("do not start with a feed that is none, or has no price", () =>
    Effect.gen(function* () {
      const { second, show, start } = yield* opened
      yield* show("far", -1n)
      assert.match((yield* Effect.flip(start)).message, /on eip155:31338 shows no price above zero/)
      yield* Effect.promise(() => second.client.setCode({ address: feed, bytecode: "0x" }))
      assert.match((yield* Effect.flip(start)).message, /on eip155:31338 names no decimals/)
    })
  )
})
