import { serve } from "@hono/node-server"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/hono"
import { Hono } from "hono"

const port = process.env.PORT ?? "3000"
const app = new Hono()

app.use(
  paymentMiddleware({
    origin: process.env.ORIGIN ?? `http://127.0.0.1:${port}`,
    facilitator: process.env.FACILITATOR ?? "http://127.0.0.1:4021",
    secret: process.env.SECRET ?? "only for a first try: 32 characters",
    schemes: [exactEvm.server({ rpcUrl: process.env.RPC_URL ?? "http://127.0.0.1:8545" })],
    routes: {
      "GET /report": {
        network: process.env.NETWORK ?? "eip155:31337",
        price: "$0.01",
        payTo: process.env.PAY_TO ?? "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
      }
    }
  })
)
app.get("/report", (context) => context.json({ report: "It will rain." }))

serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" })
