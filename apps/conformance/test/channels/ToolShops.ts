/** A shop of one metered tool on a chain, with a client of the SDK: in memory, or over streamable HTTP with a server for each request. */
import { createServer } from "node:http"

import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import {
  ChannelStore,
  LocalFacilitator,
  MemoryChannelStore,
  PaymentJournal,
  type PaymentLimits,
  type Standing
} from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import { channelEvm, exactEvm } from "@pontage/evm"
import { meterOf, payTools, sellTools } from "@pontage/mcp"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Hex } from "viem"
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts"
import { z } from "zod/v4"

import { Chain } from "./ChannelShopTrial.ts"

/** The price of a unit, and the units of a window. */
export const tick = 100n
export const windowUnits = 10
export const windowAmount = tick * BigInt(windowUnits)

const identity = { name: "test", version: "1.0.0" }

/** The tool's doings. */
export interface Made {
  units: number
  readonly ends: Array<string>
  /** Called after each unit. */
  after: (units: number) => void
}

interface Wish {
  readonly units: number
  readonly silent?: boolean | undefined
  readonly fail?: number | undefined
}

type Extra = Parameters<typeof meterOf>[0] & {
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined
  readonly sendNotification: (notification: {
    method: "notifications/progress"
    params: { progressToken: string | number; progress: number }
  }) => Promise<void>
}

/** Makes its units, each told as progress once it is charged, until they are made or the meter ends. */
const count = async (made: Made, { fail = -1, silent = false, units }: Wish, extra: Extra): Promise<CallToolResult> => {
  const meter = meterOf(extra)
  const said: Array<number> = []
  const progressToken = extra._meta?.progressToken
  try {
    for (let unit = 0; unit < units; unit++) {
      if (unit === fail) throw new Error("the tool failed")
      // oxlint-disable-next-line no-await-in-loop -- a unit is made once it is charged
      await meter?.charge(1)
      said.push(unit)
      made.units++
      made.after(made.units)
      if (progressToken === undefined || silent) continue
      // oxlint-disable-next-line no-await-in-loop -- one unit after another
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress: unit + 1 } })
    }
    made.ends.push("done")
  } catch (error) {
    const { message, name } = error as Error
    made.ends.push(name === "MeterEnded" ? String(Reflect.get(error as Error, "end")) : message)
    if (name !== "MeterEnded") throw error
  }
  return { content: [{ type: "text", text: said.join(" ") }] }
}

const httpOf = Effect.fnUntraced(function* (serve: () => McpServer) {
  const http = createServer((request, response) => {
    const server = serve()
    const transport = new StreamableHTTPServerTransport({})
    response.on("close", () => void server.close())
    void server.connect(transport as Transport).then(() => transport.handleRequest(request, response))
  })
  const origin = yield* listen(http)
  yield* Effect.addFinalizer(() => Effect.sync(() => http.closeAllConnections()))
  return { http, origin }
})

/** Opens the shop; `strangers` and the seconds that a call waits for a voucher are the tool's. */
export const opened = Effect.fnUntraced(function* (
  over: "in memory" | "over HTTP",
  { idleSeconds = 4, strangers = "serve" as "serve" | "refuse" } = {}
) {
  const chain = yield* Chain
  const { accounts, rpcUrl } = chain.node
  const [sender, lent] = accounts.signers
  const payee = privateKeyToAddress(generatePrivateKey())
  const ledger = MemoryChannelStore.make()
  const facilitator = LocalFacilitator.layerMemory({
    schemes: [channelEvm.facilitator({ signer: sender, rpcUrl, authorizer: { signer: lent }, minimumDeposit: 1n })],
    channels: { pollMillis: 50, maximumUnclaimed: 10n ** 12n, leastClaim: 1n, leastPayout: 1n }
  }).pipe(Layer.provide(Layer.succeed(ChannelStore, ledger)))
  const shop = sellTools({
    origin: "https://tools.example",
    facilitator,
    secret: Buffer.alloc(32, 7).toString("base64"),
    schemes: [channelEvm.server({ rpcUrl, deposit: 10n * windowAmount })]
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => shop.close()))
  const made: Made = { units: 0, ends: [], after: () => undefined }
  const paid = shop.paid({
    scheme: "batch-settlement",
    network: BaseSepolia.network,
    price: "$0.001",
    payTo: payee,
    metered: { unit: "token", tick: "$0.0001", idleSeconds, strangers }
  })
  const stock = (server: McpServer, name: string) => {
    const inputSchema = { units: z.number(), silent: z.boolean().optional(), fail: z.number().optional() }
    paid.registerTool(server, name, { inputSchema }, (wish, extra) => count(made, wish, extra as Extra))
  }
  const serve = () => {
    const server = new McpServer(identity)
    stock(server, "count")
    return server
  }
  yield* Effect.promise(() => shop.ready())
  const client = new Client(identity)
  let cut: () => Promise<void>
  if (over === "in memory") {
    const server = serve()
    const [here, there] = InMemoryTransport.createLinkedPair()
    yield* Effect.promise(async () => {
      await server.connect(there)
      await client.connect(here)
    })
    cut = () => server.close()
  } else {
    const { http, origin } = yield* httpOf(serve)
    yield* Effect.promise(() =>
      client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)) as Transport)
    )
    cut = async () => http.closeAllConnections()
  }
  yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
  /** The channel once no run holds a part of it. */
  const quiet = async (id: string): Promise<Standing> => {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- asked until it is so
      const standing = await Effect.runPromise(Effect.delay(ledger.find(id), "20 millis"))
      if (standing?.open === 0 && made.ends.length > 0) return standing
    }
  }
  return { chain, ledger, payee, made, client, over, cut, quiet, stock }
})

/** An open shop. */
export type ToolShop = Effect.Success<ReturnType<typeof opened>>

/** Our buyer at the shop's client. */
export const buyerOf = ({ chain, client, over }: ToolShop, key: Hex, limits: PaymentLimits = {}) => {
  const paid: Array<string> = []
  const troubles: Array<unknown> = []
  const journal = PaymentJournal.make(PaymentJournal.memoryLog())
  const tools = payTools(client, {
    schemes: [
      channelEvm.client({
        signer: exactEvm.localSigner(key),
        network: BaseSepolia.network,
        rpcUrl: chain.node.rpcUrl
      })
    ],
    journal,
    limits: { perRequest: "$0.001", perStream: "$0.01", ...limits },
    onPayment: ({ amount }) => void paid.push(amount),
    onTrouble: (error) => void troubles.push(error),
    ...(over === "in memory" && { server: "tools" })
  })
  /** The buyer's only channel. */
  const idOf = async (): Promise<string> => [...(await Effect.runPromise(journal.channels)).keys()][0] ?? ""
  return { tools, paid, troubles, idOf }
}
