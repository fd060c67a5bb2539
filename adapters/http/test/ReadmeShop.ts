/** The sample of the README, which is run by a test. */
import type { Seller } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { paymentHandler, settlementOf } from "@pontage/http"

interface Settings {
  readonly origin: string
  readonly secret: string
  readonly facilitator: Seller.SellerOptions["facilitator"]
  readonly rpcUrl: string
  readonly network: string
  readonly payTo: string
}

const serve = (request: Request): Response =>
  new URL(request.url).pathname === "/report"
    ? Response.json({ report: "It will rain.", paidBy: settlementOf(request)?.payer })
    : new Response("free")

export const open = ({ facilitator, network, origin, payTo, rpcUrl, secret }: Settings) =>
  paymentHandler(
    {
      origin, // "https://shop.example": the public address of the shop
      facilitator, // "https://facilitator.example"
      secret, // at least 32 characters, the same on every server of the shop
      schemes: [exactEvm.server({ rpcUrl })],
      routes: {
        "GET /report": { network, price: "$0.01", payTo, description: "The report" }
      }
    },
    serve
  )
