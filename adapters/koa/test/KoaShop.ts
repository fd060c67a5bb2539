/**
 * A shop for Koa tests: fake chains and facilitator, a real gate.
 */
import type { Seller } from "@pontage/core"
import Koa from "koa"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import * as FakeScheme from "../../../core/test/server/FakeScheme.ts"
import { payment } from "../../../core/test/server/GateTestRequest.ts"
import { paymentMiddleware, type PaymentOptions } from "../src/index.ts"
import { type KoaServer, serve } from "./KoaServer.ts"

export const terms = { scheme: "exact", network: "eip155:8453", price: "$0.01", payTo: FakeScheme.alice }

/** A payment header that the fake facilitator takes. */
export const paid: Record<string, string> = { "x-payment": String(payment(undefined)["x-payment"]) }

export const options = (facilitator: {
  readonly layer: Seller.SellerOptions["facilitator"]
}): Seller.SellerOptions => ({
  origin: "https://shop.example",
  facilitator: facilitator.layer,
  schemes: [FakeScheme.evm()],
  secret: "s".repeat(32)
})

export interface KoaShop extends KoaServer {
  readonly facilitator: ReturnType<typeof FakeFacilitator.make>
}

/** An application that sells `GET /report`, answered by `handler`. */
export const open = async (
  handler: Koa.Middleware,
  {
    outer = [],
    says,
    ...changes
  }: {
    readonly says?: Parameters<typeof FakeFacilitator.make>[0]
    readonly outer?: ReadonlyArray<Koa.Middleware>
  } & Partial<PaymentOptions["routes"][string]> = {}
): Promise<KoaShop> => {
  const facilitator = FakeFacilitator.make(says)
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
