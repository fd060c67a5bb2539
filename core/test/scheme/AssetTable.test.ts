import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Network from "../../src/protocol/Network.ts"
import * as AssetTable from "../../src/scheme/AssetTable.ts"

interface Coin extends AssetTable.CustomAsset {
  readonly colour: string
}

/** A family whose networks begin with `coin:` and whose addresses are hexadecimal digits, written in lower case. */
const family: AssetTable.Family<Coin> = {
  networkOf: (text) => (text.startsWith("coin:") ? Network.make(text) : undefined),
  networkFault: "is none of ours",
  addressOf: (text) => (/^[0-9a-f]{2}$/i.test(text) ? text.toLowerCase() : undefined),
  fault: ({ colour }, network) => (colour === "" ? `colour is empty on ${network}` : undefined),
  extra: ({ colour }) => ({ colour }),
  known: [
    { network: "coin:1", address: "AA", symbol: "USD", decimals: 6, colour: "green" },
    { network: "coin:2", address: "bb", symbol: "USD", decimals: 2, colour: "blue", dollar: false }
  ]
}
const own: Coin = { network: "coin:1", address: "0A", symbol: "GOLD", decimals: 18, colour: "yellow", dollar: false }
const network = Network.make("coin:1")
const table = Result.getOrThrow(AssetTable.make(family, [own]))

const symbolOf = (on: string, text?: string) => table.find(on, text)?.symbol

describe("an asset table", () => {
  it("has the operator's own before the known ones, each as it is written on the wire", () => {
    assert.deepStrictEqual(table.of("coin:1"), [
      { network, address: "0a", symbol: "GOLD", decimals: 18, dollar: false, extra: { colour: "yellow" } },
      { network, address: "aa", symbol: "USD", decimals: 6, dollar: true, extra: { colour: "green" } }
    ])
    assert.deepStrictEqual(table.names("coin:1"), ["GOLD (0a)", "USD (aa)"])
    assert.deepStrictEqual([table.of("coin:3"), table.names("coin:3")], [[], []])
  })

  it("finds by address in any spelling, by symbol, and a network's default", () => {
    assert.deepStrictEqual([symbolOf("coin:1"), symbolOf("coin:2"), symbolOf("coin:3")], ["GOLD", "USD", undefined])
    assert.deepStrictEqual(
      [symbolOf("coin:1", "Aa"), symbolOf("coin:1", "USD"), symbolOf("coin:1", "0a")],
      ["USD", "USD", "GOLD"]
    )
  })

  it("has no default among the known ones where its family excludes it", () => {
    const strict: AssetTable.Family<Coin> = { ...family, isDefault: ({ colour }) => colour === "green" }
    const known = Result.getOrThrow(AssetTable.make(strict, []))
    assert.deepStrictEqual(
      [known.find("coin:1", undefined)?.symbol, known.find("coin:2", undefined)],
      ["USD", undefined]
    )
    assert.strictEqual(known.find("coin:2", "USD")?.address, "bb")
    const withOwn = Result.getOrThrow(AssetTable.make(strict, [{ ...own, network: "coin:2" }]))
    assert.strictEqual(withOwn.find("coin:2", undefined)?.symbol, "GOLD")
  })

  it("finds nothing by another network's address, another case of a symbol, or no text", () => {
    for (const text of ["bb", "usd", "", "a", "undefined"]) assert.isUndefined(table.find("coin:1", text))
  })

  it("names the mistake in an asset", () => {
    const mistakes: ReadonlyArray<readonly [Partial<Coin>, string]> = [
      [{ network: "base" }, 'assets: GOLD: network "base" is none of ours'],
      [{ address: "0x1" }, 'assets: GOLD: address "0x1" is no address, or its checksum is wrong'],
      [{ decimals: 37 }, "assets: GOLD: decimals 37 is not an integer between 0 and 36"],
      [{ decimals: -1 }, "assets: GOLD: decimals -1 is not an integer between 0 and 36"],
      [{ decimals: 0.5 }, "assets: GOLD: decimals 0.5 is not an integer between 0 and 36"],
      [{ colour: "" }, "assets: GOLD: colour is empty on coin:1"]
    ]
    for (const [change, message] of mistakes) {
      const made = AssetTable.make(family, [{ ...own, ...change }])
      assert.strictEqual(Result.isFailure(made) ? made.failure.message : "taken", message)
    }
    for (const decimals of [0, 36]) assert.isTrue(Result.isSuccess(AssetTable.make(family, [{ ...own, decimals }])))
  })
})

describe("a token that is not in the table any more", () => {
  it("is known by its address alone, and told from the others", () => {
    const retired = AssetTable.retired(family, "coin:1", "CC")
    assert.deepInclude(retired, { network, address: "cc", symbol: "cc", decimals: 0, dollar: false })
    assert.isTrue(retired !== undefined && AssetTable.isRetired(retired))
    for (const asset of table.of("coin:1")) assert.isFalse(AssetTable.isRetired(asset))
  })

  it("is none where network or address are none", () => {
    assert.isUndefined(AssetTable.retired(family, "base", "cc"))
    assert.isUndefined(AssetTable.retired(family, "coin:1", "0x1"))
  })
})
