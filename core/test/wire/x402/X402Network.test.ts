import { assert, describe, it } from "@effect/vitest"

import * as X402Network from "../../../src/wire/x402/X402Network.ts"

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
