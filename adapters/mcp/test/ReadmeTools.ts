/**
 * The README's example: a server that sells the weather, a client that buys it, and a tool that is sold by the unit. Run by `Readme.integration.test.ts`.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { channelEvm, exactEvm } from "@pontage/evm"
import { z } from "zod/v4"

import { MeterEnded, meterOf, payTools, sellTools } from "../src/index.ts"

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

/** Stands for a model. */
async function* tokensOf(question: string) {
  for (const token of `You asked: ${question} It depends, as ever.`.split(" ")) yield `${token} `
}

export const sellByToken = ({ facilitator, network, payTo, rpcUrl, secret }: Given) => {
  const shop = sellTools({
    origin: "https://model.example",
    facilitator,
    secret,
    schemes: [channelEvm.server({ rpcUrl })]
  })
  const byToken = shop.paid({
    scheme: "batch-settlement",
    network,
    payTo,
    price: "$0.001",
    metered: { unit: "token", tick: "$0.0001" }
  })

  const serve = () => {
    const server = new McpServer({ name: "model", version: "1.0.0" })
    byToken.registerTool(server, "answer", { inputSchema: { question: z.string() } }, async ({ question }, extra) => {
      const progressToken = extra._meta?.progressToken
      let text = ""
      try {
        for await (const token of tokensOf(question)) {
          await meterOf(extra)?.charge(1)
          text += token
          if (progressToken === undefined) continue
          const params = { progressToken, progress: text.length, message: token }
          await extra.sendNotification({ method: "notifications/progress", params })
        }
      } catch (error) {
        // The buyer's vouchers cover no more.
        if (!(error instanceof MeterEnded)) throw error
      }
      return { content: [{ type: "text", text }] }
    })
    return server
  }

  return { shop, serve }
}
