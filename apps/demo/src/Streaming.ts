/** A purchase by the token: the shop, and a buyer that pays window by window for what has come. */
import { createServer } from "node:http"

import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import { ChannelContract } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import { settlementOf, streamOf } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import { streamBuyer } from "./Buyer.ts"
import type { Narrator } from "./Narrator.ts"
import * as Purchase from "./Purchase.ts"
import { streamShop } from "./StreamShop.ts"

const path = "/answer"

/** Starts the shop. It has a signer of its own, since each facilitator numbers the transactions of its own signers. */
export const start = Effect.fnUntraced(function* ({ accounts, rpcUrl }: EvmTestChain.Shape, secret: string, port = 0) {
  const [, , sender] = accounts.signers
  const server = createServer()
  const origin = yield* LoopbackServer.listen(server, port)
  const evm = { rpcUrl, payTo: accounts.payee.address }
  const { close, listener } = streamShop({ origin, secret, evm, sender, authorizer: accounts.stranger })
  server.on("request", listener)
  yield* Effect.addFinalizer(() => Effect.promise(close))
  return { name: "Tokens", origin } satisfies Purchase.Shop
})

/** Buys an answer, and waits until the chain shows the claim of exactly what was charged. Dies as `Purchase.buy` does. */
export const buy = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, shop: Purchase.Shop, narrator: Narrator) {
  const { accounts, network, rpcUrl } = chain
  yield* narrator.heading("An answer sold by the token while it is sent, over one deposit")
  yield* narrator.row(shop.name, shop.origin, `sells GET ${path} at $0.0001 a token, ten at a time`)
  // Not the first payer, whose channel is that of a person who tries the command line.
  const [, payer = accounts.payers[0]] = accounts.payers
  yield* Purchase.untilOnSale(shop.origin, path)
  const paying = streamBuyer(payer.privateKey, rpcUrl)
  const began = performance.now()
  const response = yield* Effect.promise(() => paying(`${shop.origin}${path}`))
  const text = yield* Effect.promise(() => response.text())
  const milliseconds = Math.round(performance.now() - began)
  const stream = streamOf(response)
  const end = stream && (yield* Effect.promise(() => stream.ended))
  const tokens = text.match(/^data: \{"token"/gm)?.length ?? 0
  if (end?.outcome !== "complete" || end.units !== BigInt(tokens) || end.charged !== BigInt(tokens) * 100n) {
    return yield* Effect.die(new Error(`GET ${path} was not sold by the token: ${response.status} ${text}`))
  }
  // A slow machine claims the first tokens before the last ones are made: the payouts are counted together.
  yield* chain.transfers().pipe(
    Effect.map((all) =>
      all
        .filter(({ from, to }) => isFromChannels(from) && to === accounts.payee.address)
        .reduce((sum, { value }) => sum + value, 0n)
    ),
    Effect.repeat({ until: (paidOut) => paidOut === end.charged, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("5 minutes"),
    Effect.orDie
  )
  yield* narrator.bought({
    shop: shop.name,
    buyer: "key, by a channel",
    network,
    route: `GET ${path}`,
    status: response.status,
    transaction: settlementOf(response)?.transaction ?? "",
    payer: payer.address,
    amount: `${end.charged}`,
    milliseconds,
    stream: { unit: "token", units: `${end.units}`, signed: `${end.signed}` }
  })
})

const isFromChannels = (address: string): boolean => address.toLowerCase() === ChannelContract.address.toLowerCase()
