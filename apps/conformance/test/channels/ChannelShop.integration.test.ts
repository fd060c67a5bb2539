/**
 * Our shop sells by payment channels to the published client, with our facilitator and its ledger in the shop's process: the books of
 * both sides are held against the chain.
 */
import { createServer } from "node:http"

import { assert, it } from "@effect/vitest"
import { Router } from "@koa/router"
import { LocalFacilitator, MemoryChannelStore } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { listen } from "@pontage/devnet/LoopbackServer"
import { ChannelCall, ChannelConfig, ChannelContract, channelEvm, EvmAddress } from "@pontage/evm"
import { ChannelContracts } from "@pontage/evm/testing"
import { paymentMiddleware } from "@pontage/koa"
import { BatchSettlementEvmScheme as ChannelClient } from "@x402/evm/batch-settlement/client"
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import Koa from "koa"
import { createPublicClient, http } from "viem"
import { privateKeyToAccount } from "viem/accounts"

const price = 1_000n
const deposit = 100_000n

interface Terms {
  /** Unclaimed money that is claimed at once. */
  readonly claimAt: bigint
}

/** Our shop with everything in its process, and a handler that fails for `?fail`. */
const opened = Effect.fnUntraced(function* ({ claimAt }: Terms) {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, rpcUrl } = chain.node
  yield* ChannelContracts.deploy(chain.node)
  const [sender, lent] = accounts.signers
  const facilitator = LocalFacilitator.layerMemory({
    schemes: [channelEvm.facilitator({ signer: sender, rpcUrl, authorizer: { signer: lent } })],
    channels: { pollMillis: 50, maximumUnclaimed: claimAt }
  }).pipe(Layer.provide(MemoryChannelStore.layer))
  const router = new Router()
  let runs = 0
  router.get("/report", (context) => {
    runs++
    context.status = context.query["fail"] === undefined ? 200 : 500
    context.body = { report: "It will rain." }
  })
  const server = createServer()
  const url = yield* listen(server)
  const payment = paymentMiddleware({
    origin: url,
    facilitator,
    secret: Buffer.alloc(32, 7).toString("base64"),
    schemes: [channelEvm.server({ rpcUrl, deposit })],
    router,
    routes: {
      "GET /report": {
        scheme: "batch-settlement",
        network: BaseSepolia.network,
        price: "$0.001",
        payTo: accounts.payee.address
      }
    }
  })
  server.on("request", new Koa().use(payment).use(router.routes()).callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  return { chain, payee: accounts.payee.address, runs: () => runs, url: `${url}/report` }
})

type Shop = Effect.Success<ReturnType<typeof opened>>

/** A buyer of theirs with a memory of its own. */
const buyerOf = (rpcUrl: string, key: `0x${string}`) => {
  const account = privateKeyToAccount(key)
  const reader = createPublicClient({ transport: http(rpcUrl) })
  const scheme = new ChannelClient({
    address: account.address,
    signTypedData: (data) => account.signTypedData(data),
    readContract: (call) => reader.readContract(call)
  })
  const pay = wrapFetchWithPayment(fetch, new x402Client().register(BaseSepolia.network, scheme))
  const reading = new x402HTTPClient(new x402Client())
  return {
    scheme,
    buy: (url: string) => Effect.promise(() => pay(url)),
    receiptOf: ({ headers }: Response) => reading.getPaymentSettleResponse((name) => headers.get(name)),
    /** The channel that the buyer opens for the offer. */
    channelOf: (url: string) =>
      Effect.promise(async () => {
        const refusal = await fetch(url)
        const { accepts } = reading.getPaymentRequiredResponse((name) => refusal.headers.get(name))
        const [offer] = accepts
        if (offer === undefined) throw new Error("the shop offers nothing")
        return scheme.buildChannelConfig(offer)
      })
  }
}

type Terms402 = Effect.Success<ReturnType<ReturnType<typeof buyerOf>["channelOf"]>>

const addressOf = (text: string) => EvmAddress.fromText(text) ?? EvmAddress.zero

const configOf = (terms: Terms402): ChannelConfig.ChannelConfig => ({
  payer: addressOf(terms.payer),
  payerAuthorizer: addressOf(terms.payerAuthorizer),
  receiver: addressOf(terms.receiver),
  receiverAuthorizer: addressOf(terms.receiverAuthorizer),
  token: addressOf(terms.token),
  withdrawDelay: terms.withdrawDelay,
  salt: terms.salt
})

/** Balance and claims of a channel. */
const standing = ({ chain: { node } }: Shop, config: ChannelConfig.ChannelConfig) =>
  Effect.promise(async () => {
    const data = ChannelCall.channels(ChannelConfig.id(node.chainId, config))
    const { data: returned = "0x" } = await node.client.call({ to: ChannelContract.address, data })
    return ChannelCall.readPair(returned)
  })

/** Waits until the payee has this much. */
const paidOut = Effect.fnUntraced(function* ({ chain, payee }: Shop, amount: bigint) {
  while ((yield* chain.balanceOf(payee)) < amount) yield* Effect.yieldNow
  assert.strictEqual(yield* chain.balanceOf(payee), amount)
})

const minutes = 120_000

it.live(
  "one deposit buys twenty-one requests, which are claimed and paid out once they are worth it",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened({ claimAt: 21n * price })
        const payer = yield* shop.chain.payer
        const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
        const before = yield* shop.chain.balanceOf(payer.address)
        for (let request = 1; request <= 21; request++) {
          const response = yield* buyer.buy(shop.url)
          assert.strictEqual(response.status, 200)
          const { extra, success, transaction } = buyer.receiptOf(response)
          assert.isTrue(success)
          assert.strictEqual(transaction !== "", request === 1)
          assert.strictEqual(extra?.["chargedAmount"], `${price}`)
        }
        yield* paidOut(shop, 21n * price)
        assert.strictEqual(shop.runs(), 21)
        assert.strictEqual(yield* shop.chain.balanceOf(payer.address), before - deposit)
        assert.deepStrictEqual(yield* standing(shop, configOf(yield* buyer.channelOf(shop.url))), [
          deposit,
          21n * price
        ])
        // The claim is known: the next voucher goes on top of it.
        assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
      })
    ),
  minutes
)

for (const together of [4, 16]) {
  it.live(
    `${together} requests at once on one channel are all answered, each charged once`,
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* opened({ claimAt: BigInt(together + 1) * price })
          const payer = yield* shop.chain.payer
          const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
          assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
          const responses = yield* Effect.forEach(Array.from({ length: together }), () => buyer.buy(shop.url), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(
            responses.map(({ status }) => status),
            Array.from({ length: together }, () => 200)
          )
          assert.strictEqual(shop.runs(), together + 1)
          yield* paidOut(shop, BigInt(together + 1) * price)
        })
      ),
    minutes
  )
}

it.live(
  "requests that open a channel at once pay into it once",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened({ claimAt: 4n * price })
        const payer = yield* shop.chain.payer
        const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
        const responses = yield* Effect.forEach(Array.from({ length: 4 }), () => buyer.buy(shop.url), {
          concurrency: "unbounded"
        })
        const served = responses.filter(({ status }) => status === 200).length
        assert.strictEqual(shop.runs(), served)
        const [balance] = yield* standing(shop, configOf(yield* buyer.channelOf(shop.url)))
        assert.strictEqual(balance, deposit)
        assert.strictEqual(served, 4)
      })
    ),
  minutes
)

it.live(
  "a run that fails is not charged, and a buyer without its memory is told the channel's sums",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened({ claimAt: 4n * price })
        const payer = yield* shop.chain.payer
        const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
        for (let request = 0; request < 2; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
        assert.strictEqual((yield* buyer.buy(`${shop.url}?fail`)).status, 500)
        assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
        const forgetful = buyerOf(shop.chain.node.rpcUrl, payer.key)
        assert.strictEqual((yield* forgetful.buy(shop.url)).status, 200)
        yield* paidOut(shop, 4n * price)
      })
    ),
  minutes
)

it.live(
  "a withdrawal is overtaken by the claim of what was sold, and no request is served after it has begun",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened({ claimAt: 1_000n * price })
        const payer = yield* shop.chain.payer
        const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
        for (let request = 0; request < 3; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
        const config = configOf(yield* buyer.channelOf(shop.url))
        const { node } = shop.chain
        yield* node.request("anvil_impersonateAccount", [config.payer])
        yield* node.setBalance(config.payer, 10n ** 18n)
        yield* node.send({
          from: config.payer,
          to: ChannelContract.address,
          data: ChannelCall.initiateWithdraw(config, deposit)
        })
        assert.strictEqual((yield* buyer.buy(shop.url)).status, 402)
        assert.strictEqual(shop.runs(), 3)
        yield* paidOut(shop, 3n * price)
        assert.deepStrictEqual(yield* standing(shop, config), [deposit, 3n * price])
      })
    ),
  minutes
)
