/**
 * A shop as a measured process: `bare` is Koa alone, `gated` has the payment middleware in front of the same routes.
 */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import { mppSeller, protocolSeller, x402v1Seller, x402v2Seller } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import Koa from "koa"

import { report } from "./MeasuredProcess.ts"

const [kind, port = "0", rpcUrl = "", facilitator = "", payTo = "", network = "eip155:31337"] = process.argv.slice(2)
const origin = `http://127.0.0.1:${port}`

const router = new Router()
const body = { report: "It will rain, and then it will not." }
for (const path of ["/report", "/everybody", "/free"]) {
  router.get(path, (context) => {
    context.body = body
  })
}

const terms = { scheme: "exact", network, price: "$0.01", payTo } as const
/** Version 1 of x402 has no name for networks that are not public. */
const versionOne = x402v1Seller.canOffer("exact", network) ? [x402v1Seller] : []
const dialects = [...versionOne, protocolSeller, x402v2Seller, mppSeller()]

const app = new Koa()
if (kind === "gated") {
  app.use(
    paymentMiddleware({
      origin,
      facilitator,
      secret: "a secret of at least thirty-two characters",
      schemes: [exactEvm.server({ rpcUrl })],
      router,
      routes: { "GET /report": terms, "GET /everybody": { ...terms, dialects } }
    })
  )
}
app.use(router.routes())
createServer(app.callback()).listen(Number(port), "127.0.0.1", () => report(origin))
