import assert from "node:assert/strict"
import { test } from "node:test"

import { testMarket } from "@pontage/core/testing"
import { wrapFetch } from "@pontage/fetch"
import { paymentHandler } from "@pontage/http"

/** The application under test. Its shop's options come from outside, so that a test can give those of a market in memory. */
const reports = (shop, terms) =>
  paymentHandler({ ...shop, routes: { "GET /report": { ...terms, price: "$0.01" } } }, () =>
    Response.json({ report: "It will rain." })
  )

void test("a report costs a cent", async () => {
  const market = testMarket()
  const application = reports(market.shop, market.terms)
  await application.ready()

  // A fetch handler needs no server; wrapFetch(fetch, market.payer) buys over HTTP.
  const ask = (url, init) => application(new Request(url, init))
  const unpaid = await ask("https://shop.example/report")
  assert.equal(unpaid.status, 402)

  const paying = wrapFetch(ask, market.payer)
  const paid = await paying("https://shop.example/report")
  assert.deepEqual(await paid.json(), { report: "It will rain." })
  assert.equal(market.earned(), 10_000n)

  await application.close()
})

void test("nothing is charged while the chain is down", async () => {
  const market = testMarket()
  const application = reports(market.shop, market.terms)
  await application.ready()
  market.ledger.faults.down = true

  const paying = wrapFetch((url, init) => application(new Request(url, init)), market.payer)
  await assert.rejects(paying("https://shop.example/report", { signal: AbortSignal.timeout(300) }))
  assert.equal(market.earned(), 0n)

  await application.close()
})
