/**
 * Our shop of MCP tools over HTTP, as a process under attack.
 */
import { createServer } from "node:http"

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import { exactEvm } from "@pontage/evm"
import { sellTools } from "@pontage/mcp"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { z } from "zod"

import * as ShopGoods from "./ShopGoods.ts"

const { facilitator, key, payTo, rpcUrl } = Schema.decodeUnknownSync(ShopGoods.Role)(process.env["ROLE"] ?? "")

const shop = sellTools({
  origin: "https://tools.example",
  facilitator: { url: facilitator, headers: { authorization: `Bearer ${key}` } },
  secret: "a secret of at least thirty-two characters",
  schemes: [exactEvm.server({ rpcUrl })]
})
const cent = shop.paid({ network: BaseSepolia.network, payTo, price: "$0.01", binding: "required" })

const said = (what: string) => ({ content: [{ type: "text" as const, text: JSON.stringify(ShopGoods.goods(what)) }] })

let calls = 0

const serve = () => {
  const server = new McpServer({ name: "tools", version: "1.0.0" })
  const draw = { what: z.string(), at: z.number().default(() => ++calls) }
  cent.registerTool(server, "draw", { inputSchema: draw }, ({ at, what }) => said(`${what} drawn at ${at}`))
  const swapped = cent.registerTool(server, "swapped", {}, () => said("first"))
  swapped.handler = () => said("second")
  return server
}

const http = createServer((request, response) => {
  const server = serve()
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.on("close", () => void server.close())
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the SDK's own transport is one
  void server.connect(transport as Transport).then(() => transport.handleRequest(request, response))
})

const program = Effect.gen(function* () {
  // Prices are proven when a server has named its tools.
  serve()
  yield* Effect.promise(() => shop.ready())
  process.send?.({ url: yield* LoopbackServer.listen(http) })
  return yield* Effect.never
})

process.on("disconnect", () => process.exit(1))
await Effect.runPromise(Effect.scoped(program))
