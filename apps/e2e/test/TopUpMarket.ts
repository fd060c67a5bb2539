/**
 * A shop that is paid on the second chain alone, and a buyer whose dollars are on the first one, without coin on either: two real nodes
 * with LayerZero's published contracts or CCTP between them, and a facilitator of both behind HTTP.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { Router } from "@koa/router"
import { PaymentJournal } from "@pontage/core"
import { LocalBridge } from "@pontage/devnet/bridge"
import { exactEvm, topUpEvm } from "@pontage/evm"
import { make as makeFetch, type PayingFetchOptions } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import Koa from "koa"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

import * as CrossMarket from "./CrossMarket.ts"
import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

/** The price at the shop, and what the buyer has on the first chain, in the token's smallest unit. */
export const price = 10_000_000n
export const purse = 100_000_000n

type Fetch = typeof globalThis.fetch

/** Settings of the buyer that tests change. */
export interface BuyerSettings extends Partial<Pick<PayingFetchOptions, "limits" | "allow" | "confirm" | "journal">> {
  readonly atLeast?: string
  readonly waitSeconds?: number
  /** Carries the requests to the facilitator. */
  readonly carrier?: Fetch
}

/** The path of a request to the facilitator. */
export const pathOf = (input: Parameters<Fetch>[0]): string =>
  new URL(input instanceof Request ? input.url : input.toString()).pathname

/** The facilitator's quotes with other terms. */
export const withQuotes =
  (change: Readonly<Record<string, unknown>>): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (pathOf(input) !== "/supported") return response
    const { kinds, ...rest } = (await response.json()) as { kinds: ReadonlyArray<{ quotes?: ReadonlyArray<object> }> }
    for (const { quotes = [] } of kinds) for (const quote of quotes) Object.assign(quote, change)
    return Response.json({ ...rest, kinds })
  }

/** The bridges that it opens over. */
export const { kinds } = LocalBridge

/** Opens it over a bridge of this kind. */
export const open = Effect.fnUntraced(function* (kind: LocalBridge.Kind) {
  const bridge = yield* LocalBridge.make(kind)
  const { bridges, first, second } = bridge
  const schemes = LocalBridge.schemesOf(bridge, { pushAfterSeconds: 600 })
  const assets = [
    { network: first.network, ...first.token },
    { network: second.network, ...second.token }
  ]
  const farSigner = second.accounts.signers[2]
  const farScheme = exactEvm.facilitator({ signer: farSigner, rpcUrl: second.rpcUrl, assets })
  const { facilitator } = yield* TestMarket.settling([schemes.facilitator, schemes.deliveries, farScheme])
  const server = createServer()
  const origin = yield* listen(server)
  let runs = 0
  const router = new Router()
  router.get("/report", (context) => void (context.body = { reports: ++runs }))
  router.get("/either", (context) => void (context.body = { reports: ++runs }))
  const payment = paymentMiddleware({
    facilitator,
    secret: TestMarket.secret,
    schemes: [second, first].map(({ network, rpcUrl }) => exactEvm.server({ rpcUrl, network, assets })),
    origin,
    router,
    routes: {
      "GET /report": { network: second.network, price: "$10", payTo: second.accounts.payee.address },
      "GET /either": {
        accepts: [second, first].map(({ accounts, network }) => ({
          scheme: "exact",
          network,
          price: "$10",
          payTo: accounts.payee.address
        }))
      }
    }
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  const key = generatePrivateKey()
  const account = privateKeyToAccount(key)
  yield* first.mint(account.address, purse)
  const signed: Array<string> = []
  const signer = {
    address: account.address,
    signTypedData: (data: Parameters<typeof account.signTypedData>[0]) => {
      signed.push(data.primaryType)
      return account.signTypedData(data)
    }
  }
  const usual = yield* Clock.Clock
  const buyer = ({ atLeast, carrier, waitSeconds = 900, ...options }: BuyerSettings = {}, clock = usual) => {
    const paying = makeFetch(fetch, {
      schemes: [second, first].map(({ network }) => exactEvm.client({ signer, network, assets })),
      limits: { perRequest: "$30" },
      allow: { topUp: true },
      journal: PaymentJournal.make(PaymentJournal.memoryLog()),
      ...options,
      topUp: topUpEvm.topUps({
        signer,
        facilitator: { url: facilitator, ...(carrier && { fetch: carrier }) },
        nodes: { [first.network]: first.rpcUrl, [second.network]: second.rpcUrl },
        assets,
        bridges,
        waitSeconds,
        ...(atLeast !== undefined && { atLeast })
      })
    })
    return Effect.runSync(Effect.provideService(paying, Clock.Clock, clock))
  }
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "top-up-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true }))
  )
  return {
    ...bridge,
    account,
    journalFile: join(folder, "journal.jsonl"),
    /** The environment of a program that buys by this account. */
    environment: {
      JOURNAL: join(folder, "program.jsonl"),
      PRIVATE_KEY: key,
      FACILITATOR: facilitator,
      NODES: JSON.stringify({ [first.network]: first.rpcUrl, [second.network]: second.rpcUrl }),
      BRIDGES: JSON.stringify({ assets, bridges })
    },
    buyer,
    facilitator,
    signed,
    url: `${origin}/report`,
    /** Is paid on either chain. */
    either: `${origin}/either`,
    runs: () => runs,
    /** The signatures of top-ups. */
    topUps: () => signed.filter((type) => type === "ReceiveWithAuthorization").length,
    here: first.balanceOf(account.address),
    there: second.balanceOf(account.address),
    isArrived: CrossMarket.isArrived(kind)
  }
})

export type TopUpMarket = Effect.Success<ReturnType<typeof open>>
