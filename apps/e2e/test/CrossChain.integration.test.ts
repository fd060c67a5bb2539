/**
 * A buyer whose money is on one chain pays a shop that wants it on another one: by one signature, without coin on either chain, over
 * real HTTP, with LayerZero's published contracts between two real nodes.
 */
import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { Router } from "@koa/router"
import { BridgedChains, LayerZeroExecutor, RoutedSchemes } from "@pontage/devnet/bridge"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import Koa from "koa"

import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

const price = 10_000_000n

/** Two chains, a facilitator of both, a shop that is paid on the second one, and a buyer with money on the first. */
const opened = Effect.fnUntraced(function* (serve: "departed" | "delivered", pushAfterSeconds: number) {
  const chains = yield* BridgedChains.make
  const { attester, away, first, home, second, token } = chains
  const executor = yield* LayerZeroExecutor.make(home, away, attester)
  const schemes = RoutedSchemes.make(chains, { pushAfterSeconds })
  const { facilitator } = yield* TestMarket.settling([schemes.facilitator, schemes.deliveries])
  const server = createServer()
  const origin = yield* listen(server)
  let runs = 0
  const router = new Router()
  router.get("/report", (context) => void (context.body = { reports: ++runs }))
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
        serve
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
  const coins = Effect.promise(async () => {
    const [[near], [far]] = [first.accounts.signers, second.accounts.signers]
    return (await first.client.getBalance(near)) + (await second.client.getBalance(far))
  })
  const before = yield* coins
  let signatures = 0
  const signTypedData: typeof payer.signTypedData = (data) => {
    signatures++
    return payer.signTypedData(data)
  }
  const buy = wrapFetch(fetch, {
    schemes: [schemes.client({ ...payer, signTypedData })],
    limits: { perRequest: "$30" }
  })
  const report = Effect.promise(async () => {
    const response = await buy(`${origin}/report`)
    const settled = settlementOf(response)
    return { status: response.status, body: await response.text(), paymentId: settled?.paymentId ?? "" }
  })
  return {
    ...chains,
    executor,
    facilitator,
    report,
    payer,
    runs: () => runs,
    signatures: () => signatures,
    received: second.balanceOf(first.accounts.payee.address, token),
    /** The fee that the facilitator got, and its cost on both chains; millionths of a dollar. */
    books: Effect.gen(function* () {
      const spent = (before - (yield* coins)) * RoutedSchemes.coinPrice
      return {
        fee: Number(yield* first.balanceOf(first.accounts.signers[0].address)),
        cost: Number(spent / 10n ** 18n)
      }
    })
  }
})

interface Record {
  readonly network: string
  readonly transaction: string
  readonly delivery?: {
    readonly network: string
    readonly status: string
    readonly transaction?: string
    readonly amount?: string
  }
}

describe("a purchase across chains", () => {
  it.live("serves the report, and the bridge's executor brings the shop its price", () =>
    Effect.gen(function* () {
      const { books, facilitator, first, payer, received, report, runs, second, signatures } = yield* opened(
        "departed",
        600
      )
      const { body, paymentId, status } = yield* report
      assert.strictEqual(status, 200, body)
      assert.strictEqual(runs(), 1)
      assert.strictEqual(signatures(), 1)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: Schedule.spaced("100 millis") })
      assert.strictEqual(yield* received, price)
      assert.isBelow(Number(yield* first.balanceOf(payer.address)), 1_000_000_000 - Number(price))
      assert.strictEqual(yield* Effect.promise(() => first.client.getBalance({ address: payer.address })), 0n)
      // The record shows both legs, with both transactions.
      const record = Effect.promise(
        async () => (await (await fetch(`${facilitator}/payments/${paymentId}`)).json()) as Record
      )
      const { delivery, network, transaction } = yield* Effect.repeat(record, {
        until: ({ delivery: seen }) => seen?.status === "delivered",
        schedule: Schedule.spaced("100 millis")
      })
      assert.strictEqual(network, first.network)
      assert.match(transaction, /^0x[0-9a-f]{64}$/)
      assert.deepInclude(delivery, { network: second.network, status: "delivered", amount: `${price}` })
      assert.match(delivery?.transaction ?? "", /^0x[0-9a-f]{64}$/)
      // The scheme of deliveries is the facilitator's own: no shop can sell by it.
      const supported = yield* Effect.promise(async () => (await fetch(`${facilitator}/supported`)).text())
      assert.notInclude(supported, '"delivery"')
      assert.include(supported, '"quotes"')
      const { cost, fee } = yield* books
      assert.isAtLeast(fee, cost)
      assert.isAbove(cost, 0)
    })
  )

  it.live("serves once the money has arrived, delivered by the facilitator where the executor leaves it", () =>
    Effect.gen(function* () {
      const { books, executor, received, report, runs, signatures } = yield* opened("delivered", 0)
      yield* executor.behave("attest")
      const { body, status } = yield* report
      assert.strictEqual(status, 200, body)
      assert.strictEqual(runs(), 1)
      assert.strictEqual(signatures(), 1)
      assert.strictEqual(yield* received, price)
      const { cost, fee } = yield* books
      assert.isAtLeast(fee, cost)
    })
  )
})
