/** Tools whose price may be paid on one network for another one: no dialect of the transport has such offers yet. */
import { assert, describe, it } from "@effect/vitest"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import * as FakeScheme from "../../../core/test/server/FakeScheme.ts"
import { sellTools } from "../src/index.ts"
import * as FakeTools from "./FakeTools.ts"
import * as OpenTools from "./OpenTools.ts"

/** USDT0 on Arbitrum, which a bridge carries to Optimism. */
const routed = {
  scheme: "exact",
  network: "eip155:42161",
  asset: "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
  payTo: FakeScheme.alice,
  price: "$0.01",
  onward: { network: "eip155:10" }
} as const

const plain = { scheme: "exact", network: "ton:mainnet", payTo: "UQshop", price: "$0.01" } as const

/** A shop whose facilitator says nothing, so that no chain is asked. */
const open = () =>
  sellTools({
    ...FakeTools.options(FakeFacilitator.make({ supported: Effect.never })),
    schemes: [exactEvm.server({ network: routed.network, rpcUrl: "http://127.0.0.1:9" }), FakeScheme.ton()]
  })

const sold = () => ({ content: [{ type: "text" as const, text: "sold" }] })

describe("a tool that is paid by a route to another network", () => {
  it("beside a plain option is sold without challenges of the Machine Payments Protocol", async () => {
    const shop = open()
    const tools = shop.paid({ accepts: [routed, plain] })
    const { client, close } = await OpenTools.inMemory((server) => void tools.registerTool(server, "echo", {}, sold))
    assert.isUndefined(client.getServerCapabilities()?.experimental)
    await close()
    await shop.close()
  })

  it("alone is refused at start: no payer of the transport could pay it", async () => {
    const shop = open()
    const sell = () =>
      shop.paid({ accepts: [routed] }).registerTool(new McpServer({ name: "test", version: "1" }), "echo", {}, sold)
    assert.throws(sell, /^route "paid tools": dialects: x402 version 2 over MCP has no name for eip155:42161/)
    await shop.close()
  })
})
