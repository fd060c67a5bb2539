/**
 * Tools sold and bought by the Machine Payments Protocol over MCP, on the chain: the package's client at our server, and our
 * client at the package's server.
 */
import { assert, layer } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { exactEvm } from "@pontage/evm"
import { payTools, receiptOf, sellTools } from "@pontage/mcp"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { evm } from "mppx/client"
import { McpClient } from "mppx/mcp/client"
import { evm as evmServer, Mppx, Transport } from "mppx/server"
import { privateKeyToAccount } from "viem/accounts"

import * as MppTrial from "../../src/mpp/MppTrial.ts"
import { secret } from "../../src/shops/OurRoute.ts"

class Market extends Context.Service<Market, MppTrial.MppMarket>()("ToolMarket") {}

const identity = { name: "test", version: "1.0.0" }
const { name, version } = BaseSepolia.tokenDomain

/** A connected client, as long as the scope. */
const connected = (server: McpServer) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const [here, there] = InMemoryTransport.createLinkedPair()
      await server.connect(there)
      const client = new Client(identity)
      await client.connect(here)
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

const goods = () => ({ content: [{ type: "text" as const, text: "the weather" }] })

/** Our server, with a counter of its tool's runs. */
const ourServer = Effect.gen(function* () {
  const { chain, facilitator } = yield* Market
  const { accounts, rpcUrl } = chain.node
  const shop = yield* Effect.acquireRelease(
    Effect.sync(() =>
      sellTools({ origin: "https://tools.example", facilitator, secret, schemes: [exactEvm.server({ rpcUrl })] })
    ),
    (open) => Effect.promise(() => open.close())
  )
  const server = new McpServer(identity)
  const runs: Array<unknown> = []
  const terms = { network: BaseSepolia.network, price: BaseSepolia.price, payTo: accounts.payee.address } as const
  shop.paid(terms).registerTool(server, "weather", {}, () => {
    runs.push(1)
    return goods()
  })
  yield* Effect.promise(() => shop.ready())
  return { server, runs }
})

/** The package's server, which settles by itself. */
const theirServer = Effect.gen(function* () {
  const { chain, settle } = yield* Market
  const server = new McpServer(identity)
  const runs: Array<unknown> = []
  const charge = evmServer.charge({
    authorization: { name, version },
    chainId: Number(BaseSepolia.network.slice("eip155:".length)),
    currency: BaseSepolia.token,
    decimals: 6,
    recipient: chain.node.accounts.payee.address,
    settle
  })
  const { transport: _, ...method } = charge
  const payment = Mppx.create({ secretKey: secret, realm: "shop", transport: Transport.mcpSdk(), methods: [method] })
  server.registerTool("weather", {}, async (extra) => {
    const paid = await payment.charge({ amount: BaseSepolia.price.replace("$", "") })(extra)
    if (paid.status === 402) throw paid.challenge
    runs.push(1)
    return paid.withReceipt(goods())
  })
  return { server, runs }
})

layer(Layer.effect(Market, MppTrial.market), { excludeTestServices: true, timeout: "120 seconds" })("tools", (it) => {
  it.effect("of our server are bought by the package's client, twice, each by one transfer", () =>
    Effect.gen(function* () {
      const { chain } = yield* Market
      const { address, key } = yield* chain.payer
      const { runs, server } = yield* ourServer
      const methods = [evm({ account: privateKeyToAccount(key), authorization: { name, version } })]
      const client = McpClient.wrap(yield* connected(server), { methods })
      const references: Array<string | undefined> = []
      for (let time = 1; time <= 2; time++) {
        const result = yield* Effect.promise(() => client.callTool({ name: "weather", arguments: {} }))
        assert.deepInclude(result, goods())
        references.push(result.receipt?.reference)
        assert.lengthOf(runs, time)
      }
      const spent = yield* chain.spent(address)
      assert.deepStrictEqual(
        spent.map(({ transactionHash }): string | undefined => transactionHash),
        references
      )
    })
  )

  it.effect("of the package's server are bought by our client, twice, each by one transfer", () =>
    Effect.gen(function* () {
      const { chain } = yield* Market
      const { address, key } = yield* chain.payer
      const { runs, server } = yield* theirServer
      const client = yield* connected(server)
      const transactions: Array<string> = []
      const tools = payTools(client, {
        server: "shop",
        schemes: [exactEvm.client({ signer: exactEvm.localSigner(key), network: BaseSepolia.network })],
        onPayment: ({ transaction }) => void transactions.push(transaction)
      })
      for (let time = 1; time <= 2; time++) {
        const result = yield* Effect.promise(() => tools.callTool({ name: "weather", arguments: {} }))
        assert.deepInclude(result, goods())
        assert.isUndefined(receiptOf(result), "their receipt names no network")
        assert.lengthOf(runs, time)
      }
      const spent = yield* chain.spent(address)
      assert.deepStrictEqual(
        spent.map(({ transactionHash }): string => transactionHash),
        transactions
      )
    })
  )
})
