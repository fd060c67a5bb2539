import { type Asset, Network, PriceResolver } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { assert, describe, it } from "vitest"

const token: Asset = {
  network: Network.make("eip155:1"),
  address: "0xtoken",
  symbol: "USDC",
  decimals: 6,
  dollar: true,
  extra: {}
}
const ether: Asset = { ...token, symbol: "WETH", decimals: 18, dollar: false }

describe("layerDollar", () => {
  it("prices dollar stablecoins and nothing else", () => {
    const dollars = Effect.runSync(Effect.provide(PriceResolver.PriceResolver, PriceResolver.layerDollar))
    assert.strictEqual(Result.getOrThrow(dollars.amount("$1.5", token)), 1_500_000n)
    assert.isTrue(Result.isFailure(dollars.amount("$1.5", ether)))
  })
})

describe("resolve", () => {
  it.each([
    ["$0", 0n],
    ["$0.000", 0n],
    ["$0.000001", 1n],
    ["$9999999999999", 9_999_999_999_999_000_000n]
  ])("%s is %s", (price, amount) => {
    assert.strictEqual(Result.getOrThrow(PriceResolver.resolve(PriceResolver.dollar, price, token)), amount)
  })

  it("asks nobody for what is free, and takes nothing for what is not", () => {
    const zero = PriceResolver.fromFunction(() => 0n)
    assert.strictEqual(Result.getOrThrow(PriceResolver.resolve(zero, "$0", ether)), 0n)
    assert.isTrue(Result.isFailure(PriceResolver.resolve(zero, "$1", ether)))
  })

  it("reads the price before it asks the operator", () => {
    const asked: Array<string> = []
    const resolver = PriceResolver.fromFunction((price) => {
      asked.push(price)
      return 1n
    })
    assert.isTrue(Result.isFailure(PriceResolver.resolve(resolver, "1e3", token)))
    assert.deepStrictEqual(asked, [])
  })
})
