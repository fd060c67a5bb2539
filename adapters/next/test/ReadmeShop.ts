/** The sample of the README, which is run by a test. */
import type { Seller } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { paymentRoutes, settlementOf } from "@pontage/next"

interface Settings {
  readonly origin: string
  readonly secret: string
  readonly facilitator: Seller.SellerOptions["facilitator"]
  readonly rpcUrl: string
  readonly network: string
  readonly payTo: string
}

export const open = ({ facilitator, network, origin, payTo, rpcUrl, secret }: Settings) => {
  // app/shop.ts
  const shop = paymentRoutes({
    origin, // "https://shop.example": the public address of the shop
    facilitator, // "https://facilitator.example"
    secret, // at least 32 characters, the same on every server of the shop
    schemes: [exactEvm.server({ rpcUrl })]
  })
  // app/report/route.ts: export const GET = shop.paid(...)
  const GET = shop.paid("GET /report", { network, price: "$0.01", payTo }, (request: Request) =>
    Response.json({ report: "It will rain.", paidBy: settlementOf(request)?.payer })
  )
  return { shop, GET }
}
