import { assert, describe, it } from "@effect/vitest"

import * as Network from "../../src/protocol/Network.ts"

describe("Network", () => {
  for (const text of [
    "eip155:8453",
    "ton:mainnet",
    "tron:nile",
    "ton:-239",
    "tron:0x2b6653dc",
    "a-b:A_z-9",
    "cosmos:x"
  ]) {
    it(`${text} is one`, () => {
      assert.isTrue(Network.isNetwork(text))
      const network = Network.make(text)
      assert.strictEqual(`${Network.namespace(network)}:${Network.reference(network)}`, text)
    })
  }

  const none = ["", ":", "eip155", "eip155:", ":8453", "ab:1", "ninechars:1", "EIP155:1", "eip155:1:2", "eip155: 1"]
  for (const text of [...none, "eip155:1 ", "eip155:1\n", "eip155:" + "1".repeat(33), "eip155:é", "eip155:1/2"]) {
    it(`${JSON.stringify(text)} is none`, () => {
      assert.isFalse(Network.isNetwork(text))
      assert.throws(() => Network.make(text))
    })
  }
})
