/** A shop, its facilitator and a buyer in one process, on a ledger in memory: the smallest sale that the packages can make. */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import { LocalFacilitator } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

const sell = async (): Promise<void> => {
  const ledger = TestLedger.make()
  ledger.deposit("acct-buyer", 1_000_000n)

  const app = new Koa()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port")
  const origin = `http://127.0.0.1:${address.port}`

  const router = new Router()
  router.get("/report", (context) => {
    context.body = { report: "It will rain, and then it will not." }
  })
  const payments = paymentMiddleware({
    origin,
    secret: "a secret of 32 characters or more",
    facilitator: LocalFacilitator.layerMemory({ schemes: [Effect.succeed(TestScheme.facilitator(ledger))] }),
    schemes: [TestScheme.server(ledger)],
    router,
    routes: { "GET /report": { network: "ledger:test", price: "$0.01", payTo: "acct-shop" } }
  })
  app.use(payments)
  app.use(router.routes())
  server.on("request", app.callback())
  await payments.ready()

  const url = `${origin}/report`
  const unpaid = await fetch(url)
  const paying = wrapFetch(fetch, { schemes: [TestScheme.client("acct-buyer")], limits: { perRequest: "$0.05" } })
  const paid = await paying(url)
  const receipt = settlementOf(paid)
  const body: unknown = await paid.json()
  await payments.close()
  server.close()
  server.closeAllConnections()
  const earned = ledger.balanceOf("acct-shop")
  if (unpaid.status !== 402 || paid.status !== 200 || receipt?.payer !== "acct-buyer" || earned !== 10_000n) {
    throw new Error(`no sale: ${unpaid.status}, ${paid.status}, ${JSON.stringify(receipt)}, ${earned}`)
  }
  console.log(JSON.stringify({ sold: body, node: process.version }))
}

sell().catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
