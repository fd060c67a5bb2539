/** A Koa shop that sells an answer by the token while it sends it: over server-sent events, paid through a payment channel. */
import { Readable } from "node:stream"

import { Router } from "@koa/router"
import { ChannelStore, LocalFacilitator, MemoryChannelStore, type PaymentMeter } from "@pontage/core"
import { channelEvm, type EvmSigner } from "@pontage/evm"
import { meterOf, paymentMiddleware } from "@pontage/koa"
import * as Layer from "effect/Layer"
import Koa from "koa"

import type { ShopOptions } from "./ShopOptions.ts"

/** Options of the shop. */
export interface StreamShopOptions extends Pick<ShopOptions, "origin" | "secret" | "evm"> {
  /** The key that brings deposits and claims to the chain. */
  readonly sender: Parameters<typeof channelEvm.facilitator>[0]["signer"]
  /** The key that authorizes claims of the shop's channels; it sends nothing. */
  readonly authorizer: EvmSigner.EvmSigner
}

/** Stands for the output of a model: one token after the other, each charged before it is sent. */
async function* tokens(meter: PaymentMeter.PaymentMeter | undefined): AsyncGenerator<string> {
  const text =
    "It will rain in the morning, and the sun will come out after that; take a coat, and leave the umbrella at home."
  for (const token of text.match(/\s*\S+/g) ?? []) {
    // oxlint-disable-next-line no-await-in-loop -- a model makes one token after the other
    await meter?.charge(1)
    yield `data: ${JSON.stringify({ token })}\n\n`
  }
}

/** The facilitator in the shop's process, with the ledger of its channels. It claims at once what it has sold. */
const facilitator = ({ authorizer, evm: { rpcUrl }, sender }: StreamShopOptions) =>
  LocalFacilitator.layerMemory({
    schemes: [
      channelEvm.facilitator({ signer: sender, rpcUrl, authorizer: { signer: authorizer }, minimumDeposit: 1n })
    ],
    channels: { pollMillis: 100, leastClaim: 1n, maximumAgeMillis: 0, leastPayout: 1n }
  }).pipe(Layer.provide(Layer.succeed(ChannelStore, MemoryChannelStore.make())))

/** The shop, and how it ends. */
export const streamShop = (options: StreamShopOptions) => {
  const { evm, origin, secret } = options
  const router = new Router()
  router.get("/answer", (context) => {
    context.type = "text/event-stream"
    context.body = Readable.from(tokens(meterOf(context)))
  })
  const app = new Koa()
  const selling = paymentMiddleware({
    origin,
    secret,
    facilitator: facilitator(options),
    schemes: [channelEvm.server({ rpcUrl: evm.rpcUrl, deposit: 10_000n })],
    router,
    routes: {
      "GET /answer": {
        description: "An answer, by the token",
        scheme: "batch-settlement",
        network: "eip155:31337",
        price: "$0.001",
        metered: { unit: "token", tick: "$0.0001" },
        payTo: evm.payTo
      }
    }
  })
  app.use(selling)
  app.use(router.routes())
  return { listener: app.callback(), close: () => selling.close() }
}
