/**
 * A market across two chains: a shop that is paid on the second one, and a buyer with money on the first, with LayerZero's published
 * contracts or CCTP between two real nodes.
 */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import { LocalBridge, RoutedSchemes } from "@pontage/devnet/bridge"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import Koa from "koa"

import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

/** The price at the shop, in the token's smallest unit. */
export const price = 10_000_000n

/** The chains, and the schemes of a facilitator, a shop and a payer on them. */
export interface CrossChains extends LocalBridge.LocalBridge {
  readonly schemes: RoutedSchemes.RoutedSchemes
}

/** Whether this much has arrived: over CCTP the issuer may take less than it was allowed to, and a top-up has a part of a cent more. */
export const isArrived =
  (kind: LocalBridge.Kind) =>
  (amount: bigint, expected: bigint): boolean =>
    amount >= expected && amount <= expected + (kind === "cctp" ? 20_000n : 0n)

/** How it is opened. */
export interface Options<E> {
  readonly kind: LocalBridge.Kind
  readonly serve: "departed" | "delivered"
  /** Seconds for which the bridge's own executor is waited for. */
  readonly pushAfterSeconds: number
  /** Starts the facilitator; its URL. Default one in this process, by the schemes of the chains. */
  readonly facilitator?: (chains: CrossChains) => Effect.Effect<string, E, Scope.Scope>
}

const facilitatorOf = ({ schemes }: CrossChains) =>
  Effect.map(TestMarket.settling([schemes.facilitator, schemes.deliveries]), ({ facilitator }) => facilitator)

/** Opens it. */
export const open = Effect.fnUntraced(function* <E = never>({
  facilitator: start,
  kind,
  pushAfterSeconds,
  serve
}: Options<E>) {
  const bridge = yield* LocalBridge.make(kind)
  const { first, second } = bridge
  const schemes = LocalBridge.schemesOf(bridge, { pushAfterSeconds })
  const facilitator = yield* (start ?? facilitatorOf)({ ...bridge, schemes })
  const server = createServer()
  const origin = yield* listen(server)
  let runs = 0
  const router = new Router()
  router.get("/report", (context) => void (context.body = { reports: ++runs }))
  const payment = paymentMiddleware({
    facilitator,
    secret: TestMarket.secret,
    schemes: [schemes.server],
    origin,
    router,
    routes: {
      "GET /report": {
        network: first.network,
        price: "$10",
        payTo: first.accounts.payee.address,
        onward: { network: second.network },
        maxTimeoutSeconds: 120,
        serve
      }
    }
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  const [payer] = first.accounts.payers
  const coins = Effect.promise(async () => {
    const [[near], [far]] = [first.accounts.signers, second.accounts.signers]
    return (await first.client.getBalance(near)) + (await second.client.getBalance(far))
  })
  const before = yield* coins
  let signatures = 0
  const signTypedData: typeof payer.signTypedData = (data) => {
    signatures++
    return payer.signTypedData(data)
  }
  const buy = wrapFetch(fetch, {
    schemes: [schemes.client({ ...payer, signTypedData })],
    limits: { perRequest: "$30" }
  })
  const report = Effect.promise(async () => {
    const response = await buy(`${origin}/report`)
    const settled = settlementOf(response)
    return { status: response.status, body: await response.text(), paymentId: settled?.paymentId ?? "" }
  })
  return {
    ...bridge,
    facilitator,
    report,
    payer,
    runs: () => runs,
    signatures: () => signatures,
    received: second.balanceOf(first.accounts.payee.address),
    isArrived: isArrived(kind),
    /** The fee that the facilitator got, and its cost on both chains; millionths of a dollar. */
    books: Effect.gen(function* () {
      const spent = (before - (yield* coins)) * RoutedSchemes.coinPrice
      return {
        fee: Number(yield* first.balanceOf(first.accounts.signers[0].address)),
        cost: Number(spent / 10n ** 18n)
      }
    })
  }
})
