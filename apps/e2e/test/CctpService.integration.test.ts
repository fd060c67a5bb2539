/** The facilitator's service with routes over CCTP, set up by environment variables as an operator does, between two real nodes. */
import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { Router } from "@koa/router"
import { CctpChains, LocalAttester, RoutedSchemes } from "@pontage/devnet/bridge"
import { FacilitatorProcess, FacilitatorSettings } from "@pontage/facilitator"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import Koa from "koa"

import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

const price = 10_000_000n
const feeTo = "0x00000000000000000000000000000000000000fe"
const coinPrice = `${RoutedSchemes.coinPrice}`

/** Starts the service of an operator who takes dollars on the first chain for shops on the second one. */
const serve = Effect.fnUntraced(function* (chains: CctpChains.CctpChains, attesterUrl: string) {
  const { first, second } = chains
  const { address, decimals, name, symbol, version } = first.token
  const settings = yield* FacilitatorSettings.fromEnvironment({
    PORT: "0",
    PONTAGE_STORE: "memory",
    PONTAGE_EVM_RPC_URL: first.rpcUrl,
    PONTAGE_EVM_FINALITY_DEPTH: "2",
    PONTAGE_EVM_SIGNER_KEY: first.accounts.signers[0].privateKey,
    PONTAGE_EVM_ASSETS: JSON.stringify([{ network: first.network, address, decimals, name, symbol, version }]),
    PONTAGE_EVM_ROUTES_TO: JSON.stringify([
      { network: second.network, rpcUrl: second.rpcUrl, coinPrice, finalityDepth: 2 }
    ]),
    PONTAGE_EVM_ROUTES_COIN_PRICE: coinPrice,
    PONTAGE_EVM_ROUTES_FEE_TO: feeTo,
    PONTAGE_EVM_CCTP_ATTESTER_URL: attesterUrl,
    PONTAGE_EVM_DELIVERY_SIGNER_KEY: second.accounts.signers[1].privateKey,
    PONTAGE_EVM_BRIDGES: JSON.stringify(CctpChains.bridgesOf(chains))
  })
  return (yield* Effect.provide(FacilitatorProcess.start(settings), Logger.layer([]))).url
})

describe("the service with routes over CCTP", () => {
  it.live("sells by one signature, has the message attested, and delivers it by its own signer", () =>
    Effect.gen(function* () {
      const chains = yield* CctpChains.make
      const { first, second } = chains
      const attester = yield* LocalAttester.make(first, chains.attester)
      const facilitator = yield* serve(chains, attester.url)
      const schemes = RoutedSchemes.between(chains, { bridges: CctpChains.bridgesOf(chains) })
      const server = createServer()
      const origin = yield* listen(server)
      const router = new Router()
      router.get("/report", (context) => void (context.body = { sunny: true }))
      const payment = paymentMiddleware({
        facilitator,
        secret: TestMarket.secret,
        schemes: [schemes.server],
        origin,
        router,
        routes: {
          "GET /report": {
            network: first.network,
            price: "$10",
            payTo: first.accounts.payee.address,
            onward: { network: second.network },
            maxTimeoutSeconds: 120,
            serve: "delivered"
          }
        }
      })
      const app = new Koa()
      app.silent = true
      app.use(payment).use(router.routes())
      server.on("request", app.callback())
      yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
      yield* Effect.promise(() => payment.ready())
      const [payer] = first.accounts.payers
      const buy = wrapFetch(fetch, { schemes: [schemes.client(payer)], limits: { perRequest: "$30" } })
      const signer = { address: second.accounts.signers[1].address }
      const before = yield* Effect.promise(() => second.client.getTransactionCount(signer))
      const response = yield* Effect.promise(() => buy(`${origin}/report`))
      assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.text()))
      const received = yield* second.balanceOf(first.accounts.payee.address)
      assert.isTrue(received >= price && received < price + 2_000n, `${received}`)
      assert.isAbove(Number(yield* first.balanceOf(feeTo)), 0)
      assert.strictEqual(yield* first.balanceOf(chains.router), 0n)
      assert.strictEqual(yield* Effect.promise(() => second.client.getTransactionCount(signer)), before + 1)
      const id = settlementOf(response)?.paymentId
      const record = yield* Effect.promise(async () => (await fetch(`${facilitator}/payments/${id}`)).json())
      assert.deepInclude(record.delivery, { network: second.network, status: "delivered", amount: `${received}` })
    })
  )
})
