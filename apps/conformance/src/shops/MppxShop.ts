/**
 * A shop of the Machine Payments Protocol's own package: its method `evm`, settled by an x402 facilitator, with the x402
 * half that the package writes beside it.
 */
import { createServer } from "node:http"

import { getRequestListener } from "@hono/node-server"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"
import { evm, Mppx } from "mppx/server"

import type * as MppSettler from "../mpp/MppSettler.ts"
import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"

const { name, version } = BaseSepolia.tokenDomain

/** Opens it as long as the scope: settled by the facilitator, or by the shop's own `settle`. */
export const start = Effect.fnUntraced(function* (
  { facilitator, payTo, port }: ShopOptions,
  settle?: ReturnType<typeof MppSettler.make>
) {
  const goods = Goods.make()
  const server = createServer()
  const url = yield* listen(server, port)
  const payment = Mppx.create({
    secretKey: "a secret of at least thirty-two characters",
    methods: [
      evm.charge({
        authorization: { name, version },
        chainId: Number(BaseSepolia.network.slice("eip155:".length)),
        currency: BaseSepolia.token,
        decimals: 6,
        recipient: payTo,
        ...(settle === undefined ? { x402: { facilitator } } : { settle })
      })
    ]
  })
  const charge = payment.charge({ amount: BaseSepolia.price.replace("$", "") })
  const respond = async (request: Request): Promise<Response> => {
    const path = Object.values(Goods.paths).find((one) => one === new URL(request.url).pathname)
    if (path === undefined) return new Response(null, { status: 404 })
    const paid = await charge(request)
    if (paid.status === 402) return paid.challenge
    const { body, status } = goods.deliver(path)
    return paid.withReceipt(Response.json(body, { status }))
  }
  server.on("request", getRequestListener(respond))
  return { url, goods } satisfies Goods.Shop
})
