import { Router } from "@koa/router"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import { paywall } from "@pontage/paywall"
import Koa from "koa"

const port = process.env.PORT ?? "3000"
const router = new Router()
router.get("/report", (context) => {
  context.body = { report: "It will rain." }
})

const app = new Koa()
app.use(
  paymentMiddleware({
    router,
    origin: process.env.ORIGIN ?? `http://127.0.0.1:${port}`,
    facilitator: process.env.FACILITATOR ?? "http://127.0.0.1:4021",
    secret: process.env.SECRET ?? "only for a first try: 32 characters",
    schemes: [exactEvm.server({ rpcUrl: process.env.RPC_URL ?? "http://127.0.0.1:8545" })],
    paywall: paywall({ name: "Weather shop", accent: "#0a6c52" }),
    routes: {
      "GET /report": {
        network: process.env.NETWORK ?? "eip155:31337",
        price: "$0.01",
        payTo: process.env.PAY_TO ?? "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        description: "The weather report for tomorrow"
      }
    }
  })
)
app.use(router.routes())
app.listen(Number(port), "127.0.0.1")
