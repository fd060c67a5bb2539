import { readFileSync } from "node:fs"

import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { ChannelStore, LocalFacilitator, MemoryChannelStore } from "@pontage/core"
import { channelEvm, exactEvm } from "@pontage/evm"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assert, describe, it } from "vitest"

import { payTools, receiptOf } from "../src/index.ts"
import * as OpenTools from "./OpenTools.ts"
import * as ReadmeTools from "./ReadmeTools.ts"

const read = (path: string) => readFileSync(new URL(path, new URL("../", import.meta.url)), "utf8")

/** Code without the indentation of the place it stands in. */
const dedent = (code: string): string =>
  code
    .split("\n")
    .map((line) => line.trimStart())
    .join("\n")

/** A market on a local chain: what the seller is told, and a payer's wallet. */
const market = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers: 1 })
  const { network, rpcUrl } = chain
  const [payer] = chain.accounts.payers
  const facilitator = LocalFacilitator.layerMemory({
    schemes: [exactEvm.facilitator({ signer: chain.accounts.signers[0], rpcUrl })]
  })
  const payTo = chain.accounts.payee.address
  return { chain, payer, given: { facilitator, network, payTo, rpcUrl, secret: "s".repeat(32) } }
})

describe("the README", () => {
  it("shows code that is run here, and no other", () => {
    const readme = read("README.md")
    const snippets = [...readme.matchAll(/<!-- from (\S+) -->\n\n```ts\n([\s\S]*?)```/g)]
    assert.strictEqual(snippets.length, 3)
    assert.strictEqual([...readme.matchAll(/```ts\n/g)].length, snippets.length)
    for (const [, path = "", code = ""] of snippets) assert.include(dedent(read(path)), dedent(code).trim())
  })

  it("sells and buys on a chain: one call over HTTP is one transfer", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, given, payer } = yield* market
          const { serve, shop } = ReadmeTools.sell(given)
          yield* Effect.addFinalizer(() => Effect.promise(() => shop.close()))
          yield* Effect.promise(() => shop.ready())
          const { url } = yield* Effect.acquireRelease(
            Effect.promise(() => OpenTools.listen(serve)),
            ({ close }) => Effect.promise(close)
          )
          const client = new Client({ name: "buyer", version: "1.0.0" })
          yield* Effect.promise(() => client.connect(new StreamableHTTPClientTransport(url)))
          const result = yield* Effect.promise(() => ReadmeTools.buy(client, { signer: payer, network: given.network }))
          assert.deepStrictEqual<unknown>(result.content, [{ type: "text", text: "The sun shines over Rome." }])
          const paid = (yield* chain.transfers()).filter(({ to }) => to === given.payTo)
          assert.deepStrictEqual(
            paid.map(({ from, value }) => [from, value]),
            [[payer.address, 10_000n]]
          )
          assert.deepStrictEqual<unknown>(receiptOf(result), {
            success: true,
            transaction: paid[0]?.transactionHash,
            network: given.network,
            payer: payer.address,
            amount: "10000"
          })
          yield* Effect.promise(() => client.close())
        })
      )
    ))

  it("sells by the token through a payment channel", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, given, payer } = yield* market
          yield* ChannelContracts.deploy(chain)
          const [signer, authorizer] = chain.accounts.signers
          const { network, rpcUrl } = given
          const facilitator = LocalFacilitator.layerMemory({
            schemes: [
              channelEvm.facilitator({ signer, rpcUrl, authorizer: { signer: authorizer }, minimumDeposit: 1n })
            ]
          }).pipe(Layer.provide(Layer.sync(ChannelStore, MemoryChannelStore.make)))
          const { serve, shop } = ReadmeTools.sellByToken({ ...given, facilitator })
          yield* Effect.addFinalizer(() => Effect.promise(() => shop.close()))
          yield* Effect.promise(() => shop.ready())
          const client = new Client({ name: "buyer", version: "1.0.0" })
          const [here, there] = InMemoryTransport.createLinkedPair()
          yield* Effect.promise(async () => {
            await serve().connect(there)
            await client.connect(here)
          })
          const tools = payTools(client, {
            server: "model",
            schemes: [channelEvm.client({ signer: payer, network, rpcUrl })],
            limits: { perRequest: "$0.001", perStream: "$0.01" }
          })
          const question = "will it rain on the day after the one after tomorrow in Rome?"
          const result = yield* Effect.promise(() => tools.callTool({ name: "answer", arguments: { question } }))
          const text = `You asked: ${question} It depends, as ever. `
          assert.deepStrictEqual<unknown>(result.content, [{ type: "text", text }])
          assert.deepInclude(result._meta?.["payment/receipt"], { units: "19", chargedAmount: "1900" })
          yield* Effect.promise(() => client.close())
        })
      )
    ))
})
