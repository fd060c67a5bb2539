/**
 * x402's published mechanism for TON: `@x402/core` and `@x402/fetch` with roles written from its specification, against ours, settled
 * on a local TON chain.
 */
import { createServer } from "node:http"

import { assert, layer } from "@effect/vitest"
import { Router } from "@koa/router"
import { LocalFacilitator } from "@pontage/core"
import { listen } from "@pontage/devnet/LoopbackServer"
import * as FacilitatorService from "@pontage/facilitator"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import { exactTon } from "@pontage/ton"
import { make as makeEmulation } from "@pontage/ton/emulation"
import { type TonTestAccounts, TonTestChain } from "@pontage/ton/testing"
import { x402Facilitator } from "@x402/core/facilitator"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { paymentMiddlewareFromHTTPServer, x402HTTPResourceServer, x402ResourceServer } from "@x402/express"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import express from "express"
import Koa from "koa"

import * as PeerBuyer from "../../src/buyers/PeerBuyer.ts"
import * as FacilitatorRoutes from "../../src/facilitators/FacilitatorRoutes.ts"
import * as Goods from "../../src/shops/Goods.ts"
import { untilOnSale } from "../../src/shops/OnSale.ts"
import { secret } from "../../src/shops/OurRoute.ts"
import * as PublishedClient from "../../src/ton/PublishedClient.ts"
import * as PublishedFacilitator from "../../src/ton/PublishedFacilitator.ts"
import * as PublishedServer from "../../src/ton/PublishedServer.ts"

type Account = TonTestAccounts.TestAccount

const network = "tvm:-217"
const amount = 10_000n

/** Our facilitator: the service over the local chain, with an emulation. */
const ourFacilitator = Effect.fnUntraced(function* ({ accounts, network, rpcUrl }: TonTestChain.Shape) {
  const [signer] = accounts.relayers
  const schemes = [exactTon.facilitator({ signer, network, rpcUrl, emulation: yield* makeEmulation() })]
  const local = yield* Layer.build(LocalFacilitator.layerMemory({ schemes }))
  return yield* FacilitatorService.serve({ port: 0, stopTimeoutMillis: 1 }).pipe(Effect.provide(local))
})

/** x402's facilitator class behind HTTP, with the published mechanism. */
const theirFacilitator = Effect.fnUntraced(function* ({ accounts, rpcUrl }: TonTestChain.Shape) {
  const { publicKey, secretKey } = accounts.relayers[1]
  const scheme = PublishedFacilitator.make({ publicKey, secretKey, rpcUrl })
  const facilitator = new x402Facilitator().register(network, scheme)
  const app = FacilitatorRoutes.make({
    verify: ({ paymentPayload, paymentRequirements }) => facilitator.verify(paymentPayload, paymentRequirements),
    settle: ({ paymentPayload, paymentRequirements }) => facilitator.settle(paymentPayload, paymentRequirements),
    supported: () => facilitator.getSupported()
  })
  return { url: yield* listen(createServer(app)) }
})

const routerOf = (goods: Goods.Goods): Router =>
  new Router().get(Goods.paths.report, (context) => {
    context.body = goods.deliver(Goods.paths.report).body
  })

/** Our payment middleware on Koa. */
const ourPayment = (chain: TonTestChain.Shape, facilitator: string, origin: string, router: Router) =>
  paymentMiddleware({
    origin,
    facilitator,
    secret,
    schemes: [exactTon.server({ rpcUrl: chain.rpcUrl, network: chain.network })],
    router,
    routes: {
      [`GET ${Goods.paths.report}`]: {
        scheme: "exact",
        network: chain.network,
        price: "$0.01",
        payTo: chain.accounts.payee.raw
      }
    }
  })

/** Our shop on Koa. */
const ourShop = Effect.fnUntraced(function* (chain: TonTestChain.Shape, facilitator: string) {
  const goods = Goods.make()
  const router = routerOf(goods)
  const server = createServer()
  const url = yield* listen(server)
  const payment = ourPayment(chain, facilitator, url, router)
  server.on("request", new Koa().use(payment).use(router.routes()).callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* untilOnSale(url)
  return { url, goods } satisfies Goods.Shop
})

/** x402's shop on Express, with the published mechanism; `extra` are the terms of its price. */
const theirShop = Effect.fnUntraced(function* (
  chain: TonTestChain.Shape,
  facilitator: string,
  extra: Readonly<Record<string, string>> = {}
) {
  const goods = Goods.make()
  const core = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator })).register(
    network,
    PublishedServer.scheme
  )
  const price = { asset: chain.jetton.raw, amount: `${amount}`, extra: { ...extra } }
  const accepts = { scheme: "exact", network, price, payTo: chain.accounts.payee.raw } as const
  const resource = new x402HTTPResourceServer(core, { [`GET ${Goods.paths.report}`]: { accepts, description: "" } })
  yield* Effect.promise(() => resource.initialize())
  const app = express()
  app.use(paymentMiddlewareFromHTTPServer(resource, undefined, undefined, false))
  app.get(Goods.paths.report, (_request, response) => {
    response.json(goods.deliver(Goods.paths.report).body)
  })
  return { url: yield* listen(createServer(app)), goods } satisfies Goods.Shop
})

const opened = Effect.gen(function* () {
  const chain = yield* TonTestChain.make({ payers: 16, newcomers: 4 })
  const ours = yield* ourFacilitator(chain)
  const theirs = yield* theirFacilitator(chain)
  const responseDestination = chain.accounts.relayers[0].raw
  return {
    chain,
    facilitators: { ours: ours.url, theirs: theirs.url },
    shops: {
      "our shop": yield* ourShop(chain, ours.url),
      "x402's shop at our facilitator": yield* theirShop(chain, ours.url, { responseDestination }),
      "x402's shop at x402's facilitator": yield* theirShop(chain, theirs.url)
    }
  }
})

class Market extends Context.Service<Market, Effect.Success<typeof opened>>()("Market") {}

type Pay = typeof fetch

const theirBuyer = (
  account: Account,
  rpcUrl: string,
  more: Pick<PublishedClient.Options, "handedOn" | "isPayloadApart"> = {},
  send: Pay = fetch
): Pay => {
  const { publicKey, secretKey } = account
  const client = PublishedClient.make({ publicKey, secretKey, rpcUrl, ...more })
  return wrapFetchWithPayment(send, x402Client.fromConfig({ schemes: [{ network, client }], spendControls: false }))
}

const ourBuyer = (signer: Account, rpcUrl: string): Pay =>
  wrapFetch(fetch, { schemes: [exactTon.client({ signer, network, rpcUrl })] })

const buyers: Readonly<Record<string, (account: Account, rpcUrl: string) => Pay>> = {
  "x402's buyer": theirBuyer,
  "x402's buyer with the payload in a cell": (account, rpcUrl) => theirBuyer(account, rpcUrl, { isPayloadApart: true }),
  "x402's buyer with an emulated amount": (account, rpcUrl) => theirBuyer(account, rpcUrl, { handedOn: 26_000_000n }),
  "our buyer": ourBuyer
}

layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "120 seconds" })("x402 on TON", (it) => {
  let used = 0
  const payer = Effect.map(Market, ({ chain }) => chain.accounts.payers[used++] ?? assert.fail("there are payers"))

  const bought = Effect.fnUntraced(function* (shop: Goods.Shop, pay: Pay, account: Account) {
    const { chain } = yield* Market
    const { accounts, balanceOf, jetton } = chain
    const before = yield* balanceOf(accounts.payee.address)
    const held = yield* balanceOf(account.address)
    const runs = shop.goods.runs[Goods.paths.report]
    const response = yield* Effect.promise(() => pay(`${shop.url}${Goods.paths.report}`))
    assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.clone().text()))
    assert.strictEqual(shop.goods.runs[Goods.paths.report], runs + 1)
    assert.strictEqual(yield* balanceOf(accounts.payee.address), before + amount)
    assert.strictEqual(yield* balanceOf(account.address), held - amount)
    const credit = (yield* chain.credits(accounts.payee.address, jetton)).at(-1)
    return { response, transaction: credit?.transaction }
  })

  for (const shop of ["our shop", "x402's shop at our facilitator", "x402's shop at x402's facilitator"] as const) {
    for (const [name, make] of Object.entries(buyers)) {
      it.effect(`${name} pays ${shop}, and reads the credit off the receipt`, () =>
        Effect.gen(function* () {
          const { chain, shops } = yield* Market
          const account = yield* payer
          const { response, transaction } = yield* bought(shops[shop], make(account, chain.rpcUrl), account)
          const receipt = name === "our buyer" ? settlementOf(response)?.transaction : PeerBuyer.receiptOf(response)
          assert.strictEqual(receipt, transaction)
        })
      )
    }
  }

  it.effect("buyers without a wallet on chain pay everywhere", () =>
    Effect.gen(function* () {
      const { chain, shops } = yield* Market
      const [first, second, third] = chain.accounts.newcomers
      if (second === undefined || third === undefined) return yield* Effect.die("there are newcomers")
      yield* bought(shops["our shop"], theirBuyer(first, chain.rpcUrl), first)
      yield* bought(shops["x402's shop at our facilitator"], ourBuyer(second, chain.rpcUrl), second)
      yield* bought(shops["x402's shop at x402's facilitator"], ourBuyer(third, chain.rpcUrl), third)
    })
  )

  it.effect("one payment of x402's buyer, sixteen times at once at our shop, is one run and one transfer", () =>
    Effect.gen(function* () {
      const { chain, shops } = yield* Market
      const { accounts, balanceOf, rpcUrl } = chain
      const shop = shops["our shop"]
      const account = yield* payer
      const requests: Array<Request> = []
      const held: Pay = async (input, init) => {
        const request = new Request(input, init)
        if (!request.headers.has("PAYMENT-SIGNATURE")) return fetch(request)
        requests.push(request)
        return new Response(null, { status: 500 })
      }
      const buy = theirBuyer(account, rpcUrl, {}, held)
      yield* Effect.promise(() => buy(`${shop.url}${Goods.paths.report}`))
      const request = requests[0] ?? assert.fail("the buyer has signed")
      const before = yield* balanceOf(accounts.payee.address)
      const runs = shop.goods.runs[Goods.paths.report]
      const responses = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: 16 }, () => fetch(request.clone())))
      )
      assert.strictEqual(responses.filter(({ status }) => status === 200).length, 1)
      assert.strictEqual(shop.goods.runs[Goods.paths.report], runs + 1)
      assert.strictEqual(yield* balanceOf(accounts.payee.address), before + amount)
    })
  )

  it.effect(
    "x402's shop without an account for the unused TON is refused by our facilitator, which spends nothing",
    () =>
      Effect.gen(function* () {
        const { chain, facilitators } = yield* Market
        const { accounts, balanceOf, coins, rpcUrl } = chain
        const shop = yield* theirShop(chain, facilitators.ours)
        const account = yield* payer
        const before = yield* balanceOf(accounts.payee.address)
        const spent = yield* coins(accounts.relayers[0].address)
        const response = yield* Effect.promise(() => theirBuyer(account, rpcUrl)(`${shop.url}${Goods.paths.report}`))
        assert.strictEqual(response.status, 402)
        assert.strictEqual(shop.goods.runs[Goods.paths.report], 0)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before)
        assert.strictEqual(yield* coins(accounts.relayers[0].address), spent)
      })
  )

  it.effect("our shop at x402's facilitator, which keeps no claims, does not start, and says what to do", () =>
    Effect.gen(function* () {
      const { chain, facilitators } = yield* Market
      const payment = ourPayment(chain, facilitators.theirs, "http://127.0.0.1", routerOf(Goods.make()))
      const refusal = yield* Effect.promise(() => payment.ready().then(String, String))
      yield* Effect.promise(() => payment.close())
      assert.match(refusal, /keeps no claims, so payments by "exact" on tvm:-217 must be read here/)
      assert.match(refusal, /Sell them through a Pontage facilitator/)
    })
  )

  it.effect("our buyer pays no shop that forwards TON, and signs nothing for it", () =>
    Effect.gen(function* () {
      const { chain, facilitators } = yield* Market
      const shop = yield* theirShop(chain, facilitators.theirs, { forwardTonAmount: "50000000" })
      const account = yield* payer
      const said = yield* Effect.promise(() =>
        ourBuyer(account, chain.rpcUrl)(`${shop.url}${Goods.paths.report}`).then(String, String)
      )
      assert.match(said, /forwards TON/)
      assert.strictEqual(shop.goods.runs[Goods.paths.report], 0)
    })
  )
})
