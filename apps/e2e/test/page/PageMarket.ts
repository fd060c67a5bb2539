/** Three chains, a facilitator that can be taken down, and a Koa shop with a page. */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import { nodeProxy, tonReads, tronReads } from "@pontage/demo/NodeProxy"
import { DevNet } from "@pontage/devnet"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import { paywall } from "@pontage/paywall"
import { exactTon, TonAddress, TonRpc } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import * as Effect from "effect/Effect"
import Koa from "koa"

import { listen } from "../OpenServer.ts"
import { secret, settling } from "../TestMarket.ts"
import * as BridgeProxy from "./BridgeProxy.ts"
import * as FormRoutes from "./FormRoutes.ts"
import * as OwnPage from "./OwnPage.ts"

/** Markup that would run if any part of the page took it for more than text. */
export const hostile = `</script><script>window.robbed=1</script><img src=x onerror="window.robbed=1">"'`

/** The market. */
export const make = Effect.gen(function* () {
  const chains = yield* DevNet.make({})
  const { evm, ton, tron } = chains
  const counter = yield* settling([
    exactEvm.facilitator({ signer: evm.accounts.signers[0], rpcUrl: evm.rpcUrl }),
    exactTon.facilitator({ signer: ton.accounts.relayers[0], rpcUrl: ton.rpcUrl, network: "ton:local" }),
    exactTron.facilitator({ rpcUrl: tron.rpcUrl, network: "tron:local" })
  ])
  const bridge = yield* BridgeProxy.bridge
  const server = createServer()
  const origin = yield* listen(server)
  const handlers: Handlers = { runs: 0, failuresLeft: 0, lose: undefined, orders: [], isFailing: false, isCut: false }
  const accepts = [
    { scheme: "exact", network: "eip155:31337", price: "$0.01", payTo: evm.accounts.payee.address },
    { scheme: "exact", network: "ton:local", price: "$0.01", payTo: ton.accounts.payee.raw },
    { scheme: "exact", network: "tron:local", price: "$0.01", payTo: tron.accounts.payee.address }
  ]
  const router = FormRoutes.add(routes(handlers), handlers)
  const payment = paymentMiddleware({
    origin,
    facilitator: counter.facilitator,
    secret,
    schemes: [
      exactEvm.server({ rpcUrl: evm.rpcUrl }),
      exactTon.server({ rpcUrl: ton.rpcUrl, network: "ton:local" }),
      exactTron.server({ rpcUrl: tron.rpcUrl, network: "tron:local" })
    ],
    paywall: paywall({
      name: "Weather shop",
      nodes: { "ton:local": "/nodes/ton", "tron:local": "/nodes/tron" },
      tonWallets: [{ id: "far", name: "Far Wallet", link: "https://far.invalid/ton-connect", bridge: "/bridges/far" }]
    }),
    router,
    routes: {
      "GET /report": { description: "The weather report for tomorrow", maxTimeoutSeconds: 3600, accepts },
      "GET /brief": { description: "Valid for a moment", maxTimeoutSeconds: 8, accepts },
      "GET /list.csv": { description: "Ten years of rain", accepts },
      "GET /search": { description: "A search", accepts },
      "GET /letter": { description: "A letter", accepts },
      "GET /hostile": { description: hostile, accepts },
      "POST /order": { description: "An order", maxTimeoutSeconds: 3600, accepts },
      "POST /print": { description: "A print", bind: "body", accepts },
      "POST /flaky/:name": { description: "A flaky order", maxTimeoutSeconds: 3600, accepts },
      "POST /thanks": { description: "A gift", accepts },
      "POST /strict": { description: "A strict order", accepts },
      "POST /invoice": { description: "An invoice", accepts }
    }
  })
  const app = new Koa()
  app.silent = true
  app
    .use((context, next) => {
      if (handlers.isCut && context.get("sec-fetch-dest") === "empty" && context.search === "") {
        context.respond = false
        return void context.req.socket.destroy()
      }
      if (handlers.lose === undefined || context.get("x-payment") === "") return next()
      context.respond = false
      return handlers.lose()
    })
    .use(
      nodeProxy([
        { path: "/nodes/ton", url: ton.rpcUrl, isNeeded: tonReads },
        { path: "/nodes/tron", url: tron.rpcUrl, isNeeded: tronReads }
      ])
    )
    .use(BridgeProxy.make("/bridges/far", bridge.url))
    .use(payment)
    .use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  const rpc = yield* TonRpc.make({ url: ton.rpcUrl, network: "ton:local" })
  let used = 0
  /** Keys of payers that were not used before; TON's have a wallet and its number. */
  const newPayers = () => {
    const index = used++
    const payer = ton.accounts.payers[index % ton.accounts.payers.length] ?? ton.accounts.payers[0]
    const address = TonAddress.fromText(payer.raw)
    const seqno = async () => {
      if (address === undefined) throw new Error("the payer has no address")
      const got = await Effect.runPromise(rpc.get(address, "seqno"))
      const [first] = got._tag === "Returned" ? got.stack : []
      return first?._tag === "Number" ? Number(first.value) : 0
    }
    return {
      evm: (evm.accounts.payers[index % evm.accounts.payers.length] ?? evm.accounts.payers[0]).privateKey,
      ton: payer,
      tonSeqno: seqno,
      tron: (tron.accounts.payers[index % tron.accounts.payers.length] ?? tron.accounts.payers[0]).privateKey
    }
  }
  return { ...counter, chains, bridge, origin, handlers, newPayers }
})

/** The shop's handlers, and the faults that a test asks for. */
interface Handlers extends FormRoutes.FormHandlers {
  runs: number
  failuresLeft: number
  /** Called for each request with a payment, which then gets no response. */
  lose: (() => void) | undefined
  /** Whether the connections of requests by scripts, except for scripts, are cut. */
  isCut: boolean
}

const routes = (handlers: Handlers): Router => {
  const router = new Router()
  router.get("/form", (context) => {
    context.type = "html"
    context.body = `<!doctype html><html lang="en"><title>Form</title><form action="/search"><input name="q" aria-label="Query"><button>Search</button></form></html>`
  })
  router.get("/own", (context) => {
    context.type = "html"
    context.body = OwnPage.html
  })
  router.get("/own.js", async (context) => {
    context.type = "js"
    context.body = await OwnPage.script()
  })
  router.get("/report", (context) => {
    handlers.runs++
    if (handlers.failuresLeft-- > 0) return context.throw(500, "the handler fails, as the test asked")
    context.body = { report: "It will rain, and then it will not.", runs: handlers.runs }
  })
  router.get("/list.csv", (context) => {
    context.set("content-type", "text/csv")
    context.set("content-disposition", 'attachment; filename="rain.csv"')
    context.body = "day,rain\n1,12\n"
  })
  router.get("/brief", (context) => {
    context.body = "brief"
  })
  router.get("/search", (context) => {
    context.body = `found: ${String(context.query["q"])}`
  })
  router.get("/letter", (context) => {
    context.type = "html"
    context.body = "<h1>Dear reader</h1><script>parent.robbed = 1; top.robbed = 1</script><p>Sunshine.</p>"
  })
  router.get("/hostile", (context) => {
    context.body = "safe"
  })
  return router
}
