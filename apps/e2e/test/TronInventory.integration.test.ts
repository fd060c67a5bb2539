/** A purchase that an operator delivers on TRON, over real HTTP: a shop that is paid there, and a buyer that signs on an EVM chain alone. */
import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { Router } from "@koa/router"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import { exactTron } from "@pontage/tron"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import Koa from "koa"

import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

const price = 10_000_000n
const fee = 50_000n
const often = Schedule.spaced("100 millis")

const opened = Effect.fnUntraced(function* () {
  const [evm, tron] = yield* Effect.all([EvmTestChain.make(), TronTestChain.make({ payers: 1 })], {
    concurrency: "unbounded"
  })
  const operator = evm.accounts.stranger
  const signer = exactTron.localSigner(tron.accounts.stranger.privateKey)
  yield* tron.mint(signer.address, 100_000_000n)
  const assets = [{ network: evm.network, ...evm.token }]
  const { network, rpcUrl } = tron
  const near = { rpcUrl: evm.rpcUrl, network: evm.network, assets }
  const payouts = exactTron.payouts({ signer, rpcUrl, network })
  const { facilitator } = yield* TestMarket.settling([
    exactEvm.facilitator({
      ...near,
      signer: evm.accounts.signers[0],
      finalityDepth: 2,
      inventory: { signer: operator, pairs: [{ to: { payouts }, fee, perDay: 1_000_000_000n }] }
    }),
    exactTron.facilitator({ rpcUrl, network })
  ])
  const server = createServer()
  const origin = yield* listen(server)
  const router = new Router()
  router.get("/report", (context) => void (context.body = { report: true }))
  const payment = paymentMiddleware({
    facilitator,
    secret: TestMarket.secret,
    schemes: [exactEvm.server(near), exactTron.server({ rpcUrl, network })],
    origin,
    router,
    routes: {
      "GET /report": {
        network: evm.network,
        price: "$10",
        payTo: tron.accounts.payee.address,
        onward: { network, inventory: operator.address },
        maxTimeoutSeconds: 120
      }
    }
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  const buy = wrapFetch(fetch, {
    schemes: [
      exactEvm.client({
        signer: evm.accounts.payers[0],
        network: evm.network,
        assets,
        routes: exactEvm.routes({ inventories: [operator.address] })
      })
    ],
    limits: { perRequest: "$30" }
  })
  return { evm, tron, operator, origin, buy, payer: signer.address }
})

describe("a purchase from an inventory on TRON", () => {
  it.live("is offered with the shop's own account there, and pays that account once", () =>
    Effect.gen(function* () {
      const { buy, evm, operator, origin, payer, tron } = yield* opened()
      const payee = tron.accounts.payee.address
      const offer = yield* Effect.promise(async () => (await fetch(`${origin}/report`)).text())
      assert.include(offer, `"payTo":"${payee}"`)
      assert.include(offer, `"asset":"${tron.token.address}"`)
      const paymentId = yield* Effect.promise(async () => {
        const response = await buy(`${origin}/report`)
        assert.strictEqual(response.status, 200, await response.text())
        return settlementOf(response)?.paymentId
      })
      assert.isString(paymentId)
      assert.strictEqual(yield* evm.balanceOf(operator.address), price + fee)
      assert.strictEqual(yield* tron.balanceOf(payee), 0n)
      yield* evm.mine(2)
      yield* Effect.repeat(tron.balanceOf(payee), { until: (amount) => amount > 0n, schedule: often })
      const all = (yield* tron.transfers()).filter(({ from }) => from === payer)
      assert.deepStrictEqual(
        all.map(({ to, value }) => [to, value]),
        [[payee, price]]
      )
    }).pipe(Effect.scoped)
  )
})
