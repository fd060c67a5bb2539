/** The nodes that `--rpc` names. */
import { assert, describe, it } from "@effect/vitest"

import * as PayerNetworks from "../src/payer/PayerNetworks.ts"

const url = "https://node.example/key=1"

describe("--rpc", () => {
  it("names an EVM network by its id or its name, and others by their ids", () => {
    const nodes = PayerNetworks.nodesFrom([`arbitrum=${url}`, `eip155:137=${url}`, `ton:mainnet=${url}`, `base=${url}`])
    for (const network of ["eip155:42161", "eip155:137", "ton:mainnet", "eip155:8453"]) {
      assert.strictEqual(nodes[network], url, network)
    }
  })

  it.each([
    "bse=https://node.example",
    "https://node.example",
    "base=ftp://node.example",
    "base",
    "=https://a.example"
  ])("refuses %s", (text) => assert.throws(() => PayerNetworks.nodesFrom([text]), /--rpc: expected network=url/))
})
