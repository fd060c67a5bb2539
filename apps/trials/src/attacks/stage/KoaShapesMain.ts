/**
 * Shops on Koa in the shapes that `SHAPES` names, each on a port of its own, as a process under attack. Its own URL reports
 * the address of each that opened, and the reason of each refusal.
 */
import { createServer } from "node:http"
import { createServer as createSecondServer } from "node:http2"
import type { AddressInfo, Server } from "node:net"

import { protocolSeller, x402v2Seller } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import * as Schema from "effect/Schema"

import * as KoaShapes from "./KoaShapes.ts"
import * as ShopGoods from "./ShopGoods.ts"

const { facilitator, key, payTo, rpcUrl } = Schema.decodeUnknownSync(ShopGoods.Role)(process.env["ROLE"] ?? "")
const names = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(Schema.String)))(process.env["SHAPES"] ?? "")

const terms = { scheme: "exact", network: BaseSepolia.network, payTo, dialects: [protocolSeller, x402v2Seller] }

const sell: KoaShapes.Gatekeeper = (routes, options = {}) =>
  paymentMiddleware({
    origin: "https://shapes.example",
    facilitator: { url: facilitator, headers: { authorization: `Bearer ${key}` } },
    secret: "a secret of at least thirty-two characters",
    schemes: [exactEvm.server({ rpcUrl })],
    // A shape exists to make exactly this mistake.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an untyped seller may pass any value
    routes: Object.fromEntries(
      Object.entries(routes).map(([name, config]) => [name, { ...terms, ...config }])
    ) as unknown as Parameters<typeof paymentMiddleware>[0]["routes"],
    ...options
  })

const listening = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
      const { port } = server.address() as AddressInfo
      resolve(`http://127.0.0.1:${port}`)
    })
  })

const opened = async (name: string) => {
  const shape = KoaShapes.shapes[name]
  if (shape === undefined) throw new Error(`there is no shape ${JSON.stringify(name)}`)
  try {
    const { app, gate } = shape(sell)
    await gate.ready()
    const answer = app.callback()
    const server =
      name === "HTTP/2"
        ? createSecondServer((request, response) => void Reflect.apply(answer, undefined, [request, response]))
        : createServer((request, response) => void answer(request, response))
    return { url: await listening(server) }
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) }
  }
}

const list = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await opened(name)])))
const index = createServer((_request, response) => {
  response.setHeader("content-type", "application/json").end(JSON.stringify(list))
})
process.send?.({ url: await listening(index) })

process.on("disconnect", () => process.exit(1))
