/**
 * Payment channels of the published server and client, settled by our facilitator over HTTP: a deposit, twenty draws, a claim and a payout,
 * and a refund, with the books of both sides held against the chain.
 */
import { createServer } from "node:http"

import { assert, it } from "@effect/vitest"
import { LocalFacilitator } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { listen } from "@pontage/devnet/LoopbackServer"
import { channelEvm } from "@pontage/evm"
import { ChannelContracts } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { BatchSettlementEvmScheme as ChannelClient } from "@x402/evm/batch-settlement/client"
import { BatchSettlementEvmScheme as ChannelServer } from "@x402/evm/batch-settlement/server"
import { paymentMiddlewareFromHTTPServer, x402HTTPResourceServer, x402ResourceServer } from "@x402/express"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import express from "express"
import { createPublicClient, http } from "viem"
import { privateKeyToAccount } from "viem/accounts"

const price = 1_000n
const draws = 20

/** A shop of the published server; `holdsKey`: it signs its claims itself, otherwise our facilitator does. */
const opened = Effect.fnUntraced(function* (holdsKey: boolean) {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, rpcUrl } = chain.node
  yield* ChannelContracts.deploy(chain.node)
  const [sender, lent, owner] = accounts.signers
  const schemes = [channelEvm.facilitator({ signer: sender, rpcUrl, authorizer: { signer: lent } })]
  const facilitator = yield* Layer.build(LocalFacilitator.layerMemory({ schemes }))
  const service = yield* FacilitatorService.serve({ port: 0, stopTimeoutMillis: 1 }).pipe(Effect.provide(facilitator))
  const remote = new HTTPFacilitatorClient({ url: service.url })
  const scheme = new ChannelServer(accounts.payee.address, {
    onchainStateTtlMs: 0,
    ...(holdsKey && { receiverAuthorizerSigner: owner })
  })
  const server = new x402HTTPResourceServer(new x402ResourceServer(remote).register(BaseSepolia.network, scheme), {
    "GET /report": {
      accepts: {
        scheme: "batch-settlement",
        price: "$0.001",
        network: BaseSepolia.network,
        payTo: accounts.payee.address
      }
    }
  })
  yield* Effect.promise(() => server.initialize())
  const app = express()
  app.use(paymentMiddlewareFromHTTPServer(server, undefined, undefined, false))
  app.get("/report", (_request, response) => {
    response.json({ report: "It will rain." })
  })
  const url = `${yield* listen(createServer(app))}/report`
  const payer = yield* chain.payer
  const account = privateKeyToAccount(payer.key)
  const reader = createPublicClient({ transport: http(rpcUrl) })
  const client = new ChannelClient({
    address: account.address,
    signTypedData: (data) => account.signTypedData(data),
    readContract: (call) => reader.readContract(call)
  })
  const pay = wrapFetchWithPayment(fetch, new x402Client().register(BaseSepolia.network, client))
  const manager = scheme.createChannelManager(remote, BaseSepolia.network, BaseSepolia.token)
  return { chain, client, manager, pay, payee: accounts.payee.address, payer: payer.address, scheme, url }
})

for (const holdsKey of [true, false]) {
  const whose = holdsKey ? "the shop's" : "our facilitator's"
  it.live(
    `one deposit, ${draws} draws, a claim, a payout and a refund by ${whose} authorizer`,
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, client, manager, pay, payee, payer, scheme, url } = yield* opened(holdsKey)
          const initial = yield* chain.balanceOf(payer)
          for (let draw = 0; draw <= draws; draw++) {
            const response = yield* Effect.promise(() => pay(url))
            assert.strictEqual(response.status, 200)
          }
          const charged = price * BigInt(draws + 1)
          const [channel] = yield* Effect.promise(() => scheme.getStorage().list())
          assert.strictEqual(channel?.chargedCumulativeAmount, `${charged}`)
          const { claims, settle } = yield* Effect.promise(() => manager.claimAndSettle())
          assert.strictEqual(claims.length, 1)
          assert.notStrictEqual(settle?.transaction, "")
          assert.strictEqual(yield* chain.balanceOf(payee), charged)
          const refund = yield* Effect.promise(() => client.refund(url))
          assert.isTrue(refund.success)
          assert.strictEqual(yield* chain.balanceOf(payer), initial - charged)
          assert.deepStrictEqual(yield* Effect.promise(() => scheme.getStorage().list()), [])
        })
      ),
    120_000
  )
}
