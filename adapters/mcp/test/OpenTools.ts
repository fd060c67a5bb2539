/**
 * MCP servers that sell tools, with real clients of the SDK: in memory, and over streamable HTTP on a loopback port, there
 * with a server of its own for each request, as the SDK's stateless servers have it.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"

/** Registers tools on a server. */
export type Stock = (server: McpServer) => void

export interface OpenTools {
  readonly client: Client
  readonly close: () => Promise<void>
}

const identity = { name: "test", version: "1.0.0" }

const stocked = (stock: Stock): McpServer => {
  const server = new McpServer(identity)
  stock(server)
  return server
}

/** A server and its client, in memory. */
export const inMemory = async (stock: Stock): Promise<OpenTools> => {
  const server = stocked(stock)
  const [here, there] = InMemoryTransport.createLinkedPair()
  await server.connect(there)
  const client = new Client(identity)
  await client.connect(here)
  return {
    client,
    close: async () => {
      await client.close()
      await server.close()
    }
  }
}

/** A loopback port where each request meets a server of its own. */
export const listen = async (
  serve: () => McpServer
): Promise<{ readonly url: URL; readonly close: () => Promise<void> }> => {
  const http = createServer((request, response) => {
    const server = serve()
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    response.on("close", () => void server.close())
    void server.connect(transport as Transport).then(() => transport.handleRequest(request, response))
  })
  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  return {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    close: async () => {
      http.closeAllConnections()
      http.close()
      await once(http, "close")
    }
  }
}

/** A server on a loopback port, and a client of it. */
export const overHttp = async (stock: Stock): Promise<OpenTools & { readonly url: URL }> => {
  const { close, url } = await listen(() => stocked(stock))
  const client = new Client(identity)
  await client.connect(new StreamableHTTPClientTransport(url))
  return {
    client,
    url,
    close: async () => {
      await client.close()
      await close()
    }
  }
}
