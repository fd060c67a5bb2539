import { assert, describe, it } from "@effect/vitest"

import * as EvmNetwork from "../../src/primitives/EvmNetwork.ts"

describe("EvmNetwork", () => {
  it("reads a chain id and gives it back", () => {
    for (const chainId of [1, 10, 8453, 42161, 31_337, Number.MAX_SAFE_INTEGER]) {
      const network = EvmNetwork.fromText(`eip155:${chainId}`)
      assert.strictEqual(network, EvmNetwork.fromChainId(chainId))
      assert.strictEqual(network && EvmNetwork.chainId(network), chainId)
    }
  })

  it("reads nothing else", () => {
    const beyond = (2n ** 53n).toString()
    const texts = [
      "",
      "eip155",
      "eip155:",
      "eip155:0",
      "eip155:01",
      "eip155:-1",
      "eip155:1.0",
      "eip155:0x1",
      "eip155:1e3"
    ]
    for (const text of [
      ...texts,
      " eip155:1",
      "eip155:1\n",
      "EIP155:1",
      "eip155:١",
      `eip155:${beyond}`,
      "ton:mainnet"
    ]) {
      assert.isUndefined(EvmNetwork.fromText(text), JSON.stringify(text))
    }
  })
})
