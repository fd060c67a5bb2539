/**
 * The README's example: a server that sells the weather, and a client that buys it. Run by `Readme.integration.test.ts`.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { exactEvm } from "@pontage/evm"
import { z } from "zod/v4"

import { payTools, sellTools } from "../src/index.ts"

/** The values that the snippets assume. */
export interface Given {
  readonly facilitator: Parameters<typeof sellTools>[0]["facilitator"]
  readonly network: string
  readonly payTo: string
  readonly rpcUrl: string
  readonly secret: string
}

export const sell = ({ facilitator, network, payTo, rpcUrl, secret }: Given) => {
  const shop = sellTools({
    origin: "https://weather.example",
    facilitator,
    secret,
    schemes: [exactEvm.server({ rpcUrl })]
  })
  const cent = shop.paid({ network, price: "$0.01", payTo })

  const serve = () => {
    const server = new McpServer({ name: "weather", version: "1.0.0" })
    cent.registerTool(
      server,
      "weather",
      { description: "The weather in a city", inputSchema: { city: z.string() } },
      ({ city }) => ({ content: [{ type: "text", text: `The sun shines over ${city}.` }] })
    )
    return server
  }

  return { shop, serve }
}

export const buy = async (
  client: Client,
  { network, signer }: { readonly network: string; readonly signer: Parameters<typeof exactEvm.client>[0]["signer"] }
) => {
  const tools = payTools(client, {
    schemes: [exactEvm.client({ signer, network })],
    limits: { perRequest: "$0.05", perDay: "$2" }
  })
  return tools.callTool({ name: "weather", arguments: { city: "Rome" } })
}
