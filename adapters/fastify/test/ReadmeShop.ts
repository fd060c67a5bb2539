/** The sample of the README, which is run by a test. */
import type { Seller } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { paymentPlugin, settlementOf } from "@pontage/fastify"
import fastify from "fastify"

interface Settings {
  readonly origin: string
  readonly secret: string
  readonly facilitator: Seller.SellerOptions["facilitator"]
  readonly rpcUrl: string
  readonly network: string
  readonly payTo: string
}

export const open = async ({ facilitator, network, origin, payTo, rpcUrl, secret }: Settings) => {
  const payment = paymentPlugin({
    origin, // "https://shop.example": the public address of the shop
    facilitator, // "https://facilitator.example"
    secret, // at least 32 characters, the same on every server of the shop
    schemes: [exactEvm.server({ rpcUrl })],
    routes: {
      "GET /report": { network, price: "$0.01", payTo, description: "The report" }
    }
  })
  const app = fastify()
  await app.register(payment)
  app.get("/report", (request) => ({ report: "It will rain.", paidBy: settlementOf(request)?.payer }))
  app.get("/free", () => "free")
  return { app, payment }
}
