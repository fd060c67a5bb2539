/**
 * A shop for Koa tests: pretended chains and facilitator, a real gate.
 */
import type { Seller } from "@pontage/core"
import Koa from "koa"

import * as PretendFacilitator from "../../../core/test/server/PretendFacilitator.ts"
import { payment } from "../../../core/test/server/PretendRequest.ts"
import * as PretendScheme from "../../../core/test/server/PretendScheme.ts"
import { paymentMiddleware, type PaymentOptions } from "../src/index.ts"
import { type KoaServer, serve } from "./KoaServer.ts"

export const terms = { scheme: "exact", network: "eip155:8453", price: "$0.01", payTo: PretendScheme.alice }

/** A payment header that the pretended facilitator takes. */
export const paid: Record<string, string> = { "x-payment": String(payment(undefined)["x-payment"]) }

export const options = (facilitator: {
  readonly layer: Seller.SellerOptions["facilitator"]
}): Seller.SellerOptions => ({
  origin: "https://shop.example",
  facilitator: facilitator.layer,
  schemes: [PretendScheme.evm()],
  secret: "s".repeat(32)
})

export interface KoaShop extends KoaServer {
  readonly facilitator: ReturnType<typeof PretendFacilitator.make>
}

/** An application that sells `GET /report`, answered by `handler`. */
export const open = async (
  handler: Koa.Middleware,
  {
    outer = [],
    says,
    ...changes
  }: {
    readonly says?: Parameters<typeof PretendFacilitator.make>[0]
    readonly outer?: ReadonlyArray<Koa.Middleware>
  } & Partial<PaymentOptions["routes"][string]> = {}
): Promise<KoaShop> => {
  const facilitator = PretendFacilitator.make(says)
  const gate = paymentMiddleware({
    ...options(facilitator),
    routes: { "GET /report": { ...terms, ...changes } }
  } as PaymentOptions)
  await gate.ready()
  const app = new Koa()
  for (const middleware of outer) app.use(middleware)
  const server = await serve(app.use(gate).use(handler))
  return {
    ...server,
    facilitator,
    close: async () => {
      await server.close()
      await gate.close()
    }
  }
}
