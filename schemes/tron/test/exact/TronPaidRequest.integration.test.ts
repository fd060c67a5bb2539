/** A request over HTTP that is paid on TRON, from the 402 to the receipt, with shop, payer and facilitator as users write them. */
import { createServer } from "node:http"

import { assert, describe, layer } from "@effect/vitest"
import { LocalFacilitator } from "@pontage/core"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

import { exactTron, TronSigner } from "../../src/index.ts"
import { TronTestChain } from "../../src/testing/index.ts"
import { tronWebOf } from "../TronTransfers.ts"

/** Opens a Koa shop on a free port, whose pages have this price. */
const shop = Effect.fnUntraced(function* (price: string) {
  const { accounts, network, rpcUrl } = yield* TronTestChain.TronTestChain
  const server = createServer()
  const origin = yield* Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed(`http://127.0.0.1:${port}`))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  const payments = paymentMiddleware({
    origin,
    facilitator: LocalFacilitator.layerMemory({
      schemes: [exactTron.facilitator({ rpcUrl, network })],
      drainMillis: 0
    }),
    secret: "a secret of thirty-two characters!",
    schemes: [exactTron.server({ rpcUrl, network })],
    routes: { "GET /report": { scheme: "exact", network, price, payTo: accounts.payee.address } }
  })
  const app = new Koa()
  app.use(payments)
  app.use((context) => void (context.body = "the report"))
  const answer = app.callback()
  server.on("request", (request, response) => void answer(request, response))
  yield* Effect.promise(() => payments.ready())
  yield* Effect.addFinalizer(() => Effect.promise(() => payments.close()))
  return origin
})

describe("a request paid on TRON", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("is offered, signed by tronweb, settled, and served with a receipt", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, network, rpcUrl, token, transfers } = yield* TronTestChain.TronTestChain
        const origin = yield* shop("$2.50")
        const unpaid = yield* Effect.promise(() => fetch(`${origin}/report`))
        const { accepts } = yield* Effect.promise(() => unpaid.json())
        assert.strictEqual(unpaid.status, 402)
        assert.deepInclude(accepts[0], { network, asset: token.address, maxAmountRequired: "2500000" })
        assert.deepInclude(accepts[0].extra, { assetTransferMethod: "transfer", minFeeLimit: "30000000" })
        const signer = TronSigner.fromTronWeb(tronWebOf(accounts.payers[0].privateKey))
        const paying = wrapFetch(fetch, {
          schemes: [exactTron.client({ signer, network, rpcUrl })],
          limits: { perRequest: "$3" }
        })
        const response = yield* Effect.promise(() => paying(`${origin}/report`))
        assert.deepStrictEqual([response.status, yield* Effect.promise(() => response.text())], [200, "the report"])
        const receipt = settlementOf(response)
        assert.deepInclude(receipt, { success: true, network, payer: signer.address, amount: "2500000" })
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 2_500_000n)
        const transfer = (yield* transfers()).find(({ to }) => to === accounts.payee.address)
        assert.strictEqual(transfer?.transaction, receipt?.transaction)
      })
    )
  })
})
