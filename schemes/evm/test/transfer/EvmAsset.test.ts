import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as UsdcDeployments from "../../src/primitives/UsdcDeployments.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as EvmAsset from "../../src/transfer/EvmAsset.ts"

const custom: EvmAsset.CustomAsset = {
  network: "eip155:8453",
  address: "0x2222222222222222222222222222222222222222",
  symbol: "GOLD",
  decimals: 18,
  name: "Gold",
  version: "3",
  dollar: false
}
const known = Result.getOrThrow(EvmAsset.table([]))
const own = Result.getOrThrow(EvmAsset.table([custom]))
const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

describe("EvmAsset.table", () => {
  it("finds by address in any case, by symbol, and a network's default", () => {
    for (const text of [usdc, usdc.toLowerCase(), "USDC", undefined]) {
      assert.strictEqual(known.find("eip155:8453", text)?.address, usdc)
    }
    assert.isTrue(known.find("eip155:8453", undefined)?.dollar)
  })

  it("finds nothing on another network, by another case of a symbol, by a wrong checksum", () => {
    assert.isUndefined(known.find("eip155:1", usdc))
    assert.isUndefined(known.find("eip155:5", undefined))
    for (const text of ["usdc", "", "0x", usdc.replace("fCD", "FCD")])
      assert.isUndefined(known.find("eip155:8453", text))
  })

  it("takes USDC for the default of every network that has Circle's, and nothing else for any other's", () => {
    for (const [chainId, address] of UsdcDeployments.deployments) {
      assert.strictEqual(known.find(`eip155:${chainId}`, undefined)?.address, address)
    }
    for (const network of ["eip155:80094", "eip155:57073"]) assert.isDefined(known.find(network, "USDT0"))
    assert.isUndefined(known.find("eip155:80094", undefined))
    assert.strictEqual(known.find("eip155:10", undefined)?.symbol, "USDC")
    assert.strictEqual(known.find("eip155:31337", undefined)?.symbol, "TUSD")
  })

  it("has the domains that are on chain", () => {
    // Values of DOMAIN_SEPARATOR() of Polygon's and Celo's USDC.
    const onChain: ReadonlyArray<readonly [string, string]> = [
      ["eip155:137", "0xcaa2ce1a5703ccbe253a34eb3166df60a705c561b44b192061e28f2a985be2ca"],
      ["eip155:42220", "0xb2ce31d2838445fa765a491f550e7c78ac7280ab0f3bc9d6063a86df9c3fb578"]
    ]
    for (const [network, separator] of onChain) {
      const asset = known.find(network, undefined) ?? assert.fail(network)
      assert.strictEqual(EvmHex.fromBytes(Eip3009.domainSeparator(EvmAsset.domain(asset))), separator)
    }
  })

  it("puts the operator's own before the known", () => {
    assert.strictEqual(own.find("eip155:8453", undefined)?.symbol, "GOLD")
    assert.strictEqual(own.find("eip155:8453", "GOLD")?.dollar, false)
    assert.strictEqual(own.find("eip155:8453", "USDC")?.address, usdc)
    assert.deepStrictEqual(own.names("eip155:8453"), [`GOLD (${custom.address})`, `USDC (${usdc})`])
    assert.deepStrictEqual(own.names("eip155:5"), [])
  })

  it("knows no token twice, and every address by its checksum", () => {
    for (const network of UsdcDeployments.deployments.map(([chainId]) => `eip155:${chainId}`)) {
      const names = known.names(network)
      assert.strictEqual(new Set(names).size, names.length)
      const asset = known.find(network, undefined)
      const address = EvmAddress.fromText(asset?.address ?? "")
      assert.strictEqual(address && EvmAddress.checksum(address), asset?.address)
    }
  })

  it("names the mistake in an asset", () => {
    const mistakes: ReadonlyArray<readonly [Partial<EvmAsset.CustomAsset>, RegExp]> = [
      [{ network: "bass" }, /GOLD: network "bass" is not an EVM network/],
      [{ address: "0x1" }, /GOLD: address "0x1"/],
      [{ address: usdc.replace("fCD", "FCD") }, /checksum/],
      [{ decimals: 37 }, /GOLD: decimals 37/],
      [{ decimals: 0.5 }, /GOLD: decimals 0.5/]
    ]
    for (const [change, message] of mistakes) {
      const table = EvmAsset.table([{ ...custom, ...change }])
      assert.match(Result.isFailure(table) ? table.failure.message : "", message)
    }
  })
})

describe("EvmAsset.domain", () => {
  it("is what the table says, the same every time", () => {
    const asset = own.find("eip155:8453", "GOLD")
    assert.isDefined(asset)
    if (asset === undefined) return
    const domain = EvmAsset.domain(asset)
    assert.deepStrictEqual(domain, {
      name: "Gold",
      version: "3",
      chainId: 8453,
      verifyingContract: EvmAddress.fromText(custom.address) ?? EvmAddress.zero
    })
    assert.strictEqual(EvmAsset.domain(asset), domain)
  })
})
