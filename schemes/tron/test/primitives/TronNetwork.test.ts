import { assert, describe, it } from "@effect/vitest"

import * as TronNetwork from "../../src/primitives/TronNetwork.ts"

const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  "tron:mainnet": ["tron:mainnet", "tron:728126428", "tron:0x2b6653dc", "tron:27Lqcw", "tron", "tron-mainnet"],
  "tron:nile": ["tron:nile", "tron:3448148188", "tron:0xcd8690dc", "tron:6FhfKq", "nile", "tron-nile"],
  "tron:shasta": ["tron:shasta", "tron:2494104990", "tron:0x94a9059e", "tron:4oPwXB", "shasta", "tron-shasta"],
  "tron:local": ["tron:local"]
}

const genesis = (end: string) => `${"0".repeat(16)}${"1e".repeat(20)}${end}`

describe("TronNetwork", () => {
  it("reads each network by all its names", () => {
    for (const [network, texts] of Object.entries(names)) {
      for (const text of texts) assert.strictEqual(TronNetwork.fromText(text), network, text)
    }
  })

  it("refuses all other names", () => {
    for (const text of [
      "",
      "tron:",
      "mainnet",
      "local",
      "tron:MAINNET",
      "tron:1",
      "tron:0x1",
      "tron:27lqcw",
      "tron:27Lqcx",
      "eip155:1",
      "ton:mainnet"
    ]) {
      assert.isUndefined(TronNetwork.fromText(text), text)
    }
    assert.isUndefined(TronNetwork.fromText("toString"))
  })

  it("recognises networks by the last four bytes of their genesis blocks' ids", () => {
    assert.strictEqual(TronNetwork.fromGenesis(genesis("2b6653dc")), "tron:mainnet")
    assert.strictEqual(TronNetwork.fromGenesis(genesis("cd8690dc")), "tron:nile")
    assert.strictEqual(TronNetwork.fromGenesis(genesis("94a9059e")), "tron:shasta")
    assert.strictEqual(TronNetwork.fromGenesis(genesis("00000001")), "tron:local")
  })
})
