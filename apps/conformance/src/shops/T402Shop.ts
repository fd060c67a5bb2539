/**
 * A shop from the other peer's server classes. The few lines between class and framework are ours: ask the class, run the
 * handler, let the class settle, answer.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import { HTTPFacilitatorClient, t402HTTPResourceServer, t402ResourceServer } from "@t402/core/server"
import { ExactEvmScheme } from "@t402/evm/exact/server"
import * as Effect from "effect/Effect"
import express, { type Request, type Response } from "express"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"

/** Opens it as long as the scope. */
export const start = Effect.fnUntraced(function* ({ facilitator, payTo, port }: ShopOptions) {
  const goods = Goods.make()
  const accepts = { scheme: "exact", price: BaseSepolia.price, network: BaseSepolia.network, payTo } as const
  const route = { accepts, description: "The report", mimeType: "application/json" }
  const core = new t402ResourceServer(new HTTPFacilitatorClient({ url: facilitator }))
  const shop = new t402HTTPResourceServer(
    core.register(BaseSepolia.network, new ExactEvmScheme()),
    Object.fromEntries(Object.values(Goods.paths).map((path) => [`GET ${path}`, route]))
  )
  yield* Effect.tryPromise({ try: () => shop.initialize(), catch: (error) => error })
  const app = express()
  for (const path of Object.values(Goods.paths))
    app.get(
      path,
      selling(shop, () => goods.deliver(path))
    )
  return { url: yield* listen(createServer(app), port), goods } satisfies Goods.Shop
})

const selling =
  (shop: t402HTTPResourceServer, deliver: () => Goods.Delivery) =>
  async (request: Request, response: Response): Promise<void> => {
    const { method, path } = request
    const result = await shop.processHTTPRequest({ adapter: adapterOf(request), path, method })
    if (result.type === "payment-error") {
      response.status(result.response.status).set(result.response.headers).json(result.response.body)
      return
    }
    const { body, status } = deliver()
    response.status(status)
    if (result.type === "payment-verified" && status < 400) {
      const settled = await shop.processSettlement(result.paymentPayload, result.paymentRequirements)
      if (!settled.success) {
        response.status(402).json({ error: "Settlement failed", details: settled.errorReason })
        return
      }
      response.set(settled.headers)
    }
    response.json(body)
  }

const adapterOf = (request: Request) => ({
  getHeader: (name: string) => request.header(name),
  getMethod: () => request.method,
  getPath: () => request.path,
  getUrl: () => `${request.protocol}://${request.headers.host}${request.originalUrl}`,
  getAcceptHeader: () => request.header("Accept") ?? "",
  getUserAgent: () => request.header("User-Agent") ?? ""
})
