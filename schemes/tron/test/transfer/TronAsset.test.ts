import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as TronAsset from "../../src/transfer/TronAsset.ts"

const usdt = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
const own: TronAsset.CustomAsset = {
  network: "tron:728126428",
  address: "41a614f803b6fd780986a42c78ec9c7f77e6ded13d",
  symbol: "OWN",
  decimals: 18
}

const messageOf = (custom: TronAsset.CustomAsset): string =>
  Result.match(TronAsset.table([custom]), { onSuccess: () => "taken", onFailure: ({ message }) => message })

describe("TronAsset", () => {
  it("finds USDT by address in any form, by symbol, and as the default", () => {
    const { find } = Result.getOrThrow(TronAsset.table([]))
    for (const text of [usdt, "41a614f803b6fd780986a42c78ec9c7f77e6ded13c", "USDT", undefined]) {
      const found = find("tron:mainnet", text)
      assert.deepStrictEqual([found?.address, found?.decimals, found?.dollar], [usdt, 6, true], text)
      assert.deepStrictEqual(found?.extra, { assetTransferMethod: "transfer", minFeeLimit: "30000000" })
    }
    assert.isUndefined(find("tron:shasta", undefined))
    assert.isUndefined(find("tron:mainnet", "USDC"))
    assert.isUndefined(find("tron:nile", usdt))
  })

  it("lists the operator's own tokens first, normalised", () => {
    const { find, names } = Result.getOrThrow(TronAsset.table([{ ...own, dollar: false, minFeeLimit: 5_000_000n }]))
    const found = find("tron:mainnet", undefined)
    assert.deepStrictEqual([found?.network, found?.symbol, found?.dollar], ["tron:mainnet", "OWN", false])
    assert.strictEqual(found?.extra["minFeeLimit"], "5000000")
    assert.strictEqual(names("tron:mainnet").length, 2)
    assert.isTrue(names("tron:mainnet")[0]?.startsWith("OWN (T"))
  })

  it("names the mistake in an invalid asset", () => {
    const mistakes: ReadonlyArray<readonly [Partial<TronAsset.CustomAsset>, RegExp]> = [
      [{ network: "eip155:1" }, /OWN: network/],
      [{ address: `${usdt.slice(0, -1)}u` }, /OWN: address/],
      [{ decimals: 1.5 }, /OWN: decimals/],
      [{ decimals: -1 }, /OWN: decimals/],
      [{ decimals: 37 }, /OWN: decimals/],
      [{ minFeeLimit: 0n }, /OWN: minFeeLimit/]
    ]
    for (const [change, expected] of mistakes) assert.match(messageOf({ ...own, ...change }), expected)
    assert.strictEqual(messageOf(own), "taken")
  })
})
