/**
 * A Koa shop: a priced report, a route whose price depends on the request, and a free page.
 */
import { Router } from "@koa/router"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import { paywall } from "@pontage/paywall"
import { exactTon } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import Koa from "koa"

import { nodeProxy, tonReads, tronReads } from "./NodeProxy.ts"
import type { ShopOptions } from "./ShopOptions.ts"

export const koaShop = ({ evm, facilitator, origin, secret, ton, tron }: ShopOptions): Koa => {
  const router = new Router()
  router.get("/", (context) => {
    context.body = "Ask for /report (0.01 dollar) or /render/3 (0.002 dollar a page)\n"
  })
  router.get("/report", (context) => {
    context.body = { report: "It will rain, and then it will not." }
  })
  router.get("/render/:pages", (context) => {
    context.body = {
      pages: Array.from({ length: Number(context["params"]["pages"]) }, (_, page) => `page ${page + 1}`)
    }
  })

  const nodes = [
    { path: "/nodes/ton", url: ton.rpcUrl, isNeeded: tonReads },
    { path: "/nodes/tron", url: tron.rpcUrl, isNeeded: tronReads }
  ]

  const app = new Koa()
  app.use(
    paymentMiddleware({
      origin,
      facilitator,
      secret,
      schemes: [
        exactEvm.server({ rpcUrl: evm.rpcUrl }),
        exactTon.server({ rpcUrl: ton.rpcUrl, network: "ton:local" }),
        exactTron.server({ rpcUrl: tron.rpcUrl, network: "tron:local" })
      ],
      router,
      paywall: page,
      discovery,
      routes: {
        "GET /report": {
          description: "The report",
          ...reportCall,
          accepts: [
            { scheme: "exact", network: "eip155:31337", price: "$0.01", payTo: evm.payTo },
            { scheme: "exact", network: "ton:local", price: "$0.01", payTo: ton.payTo },
            { scheme: "exact", network: "tron:local", price: "$0.01", payTo: tron.payTo }
          ]
        },
        "GET /render/:pages": {
          description: "As many pages as you like",
          ...renderCall,
          scheme: "exact",
          network: "eip155:31337",
          payTo: evm.payTo,
          getPrice: ({ params }) => priceOfPages(params.pages)
        }
      }
    })
  )
  app.use(router.routes())
  app.use(nodeProxy(nodes))
  return app
}

/** The page for people who open a sold address in a browser. */
const page = paywall({ name: "Weather shop", nodes: { "ton:local": "/nodes/ton", "tron:local": "/nodes/tron" } })

/** The documents that tell programs what is sold. */
const discovery = {
  title: "Reports and renderings",
  description: "Weather reports, and pages by the piece",
  contact: { url: "https://github.com/pontage/pontage" },
  guidance: "Buy GET /report for the weather. GET /render/{pages} renders 1 to 100 pages, each for 0.002 dollars.",
  llms: true
}

/** Requests and responses of the routes, for these documents. */
const reportCall = {
  input: {},
  output: { schema: { type: "object", properties: { report: { type: "string" } } } }
}
const renderCall = {
  input: {
    params: { type: "object", properties: { pages: { type: "integer", minimum: 1, maximum: 100 } } },
    example: { params: { pages: 3 } }
  },
  output: { schema: { type: "object", properties: { pages: { type: "array", items: { type: "string" } } } } }
}

/** Two tenths of a cent a page, for up to a hundred pages. Throwing here responds with 500: nothing is sold without a price. */
const priceOfPages = (text: string): string => {
  const pages = Number(text)
  if (!Number.isInteger(pages) || pages < 1 || pages > 100) throw new RangeError(`${text} is no number of pages`)
  const thousandths = `${pages * 2}`.padStart(4, "0")
  return `$${thousandths.slice(0, -3)}.${thousandths.slice(-3)}`
}
