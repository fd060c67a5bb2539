import { assert, describe, it } from "@effect/vitest"

import * as X402Network from "../../../src/wire/x402/X402Network.ts"

describe("names of version 2", () => {
  const renamed: ReadonlyArray<readonly [string, string]> = [
    ["ton:mainnet", "tvm:-239"],
    ["ton:testnet", "tvm:-3"],
    ["ton:local", "tvm:-217"]
  ]
  for (const [network, name] of renamed) {
    it(`${network} is ${name}, and back`, () => {
      assert.strictEqual(X402Network.toV2(network), name)
      assert.strictEqual(X402Network.fromV2(name), network)
      assert.strictEqual(X402Network.fromV2(network), network)
    })
  }

  it("are ours on every other network, and any other text stays as it is", () => {
    for (const text of ["eip155:8453", "tron:mainnet", "tvm:-4", "tvm:239", "", "__proto__", "constructor", "a b"]) {
      assert.strictEqual(X402Network.toV2(text), text)
      assert.strictEqual(X402Network.fromV2(text), text)
    }
  })
})

describe("names", () => {
  it("go to their network and back, one for one", () => {
    assert.strictEqual(X402Network.knownNames.length, 15)
    for (const name of X402Network.knownNames) {
      const network = X402Network.fromName(name)
      assert.isDefined(network)
      assert.strictEqual(X402Network.nameOf(network), name)
    }
  })

  it("are those of the chains", () => {
    assert.strictEqual(X402Network.fromName("base"), "eip155:8453")
    assert.strictEqual(X402Network.fromName("base-sepolia"), "eip155:84532")
    assert.strictEqual(X402Network.fromName("polygon"), "eip155:137")
    assert.strictEqual(X402Network.nameOf("eip155:43114"), "avalanche")
  })

  for (const name of ["", "Base", "eip155:8453", "constructor", "hasOwnProperty", "__proto__"]) {
    it(`"${name}" is none`, () => assert.isUndefined(X402Network.fromName(name)))
  }

  it("of other networks there are none", () => {
    assert.isUndefined(X402Network.nameOf("eip155:1"))
    assert.isUndefined(X402Network.nameOf("ton:mainnet"))
  })
})
