/**
 * A market across two chains without a bridge between them: buyers have money on the first one, the shop is paid on the second one, and
 * the facilitator's operator brings the price from its own account there.
 */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import type { FacilitatorScheme, SchemeServer } from "@pontage/core"
import { Eip3009, exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import Koa from "koa"
import { encodeFunctionData, parseAbi } from "viem"

import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

/** The price at the shop and the operator's fee, in the tokens' smallest unit. */
export const price = 10_000_000n
export const fee = 50_000n

/** The chains, with the tokens that every party is configured with. */
export interface TwoChains {
  readonly first: EvmTestChain.Shape
  readonly second: EvmTestChain.Shape
  readonly assets: ReadonlyArray<EvmTestChain.TestToken & { readonly network: string }>
  /** The key of the operator's inventory. */
  readonly operator: EvmTestChain.Shape["accounts"]["stranger"]
}

/** Starts both chains; the inventory has this balance on the second one. */
export const chains = Effect.fnUntraced(function* (balance: bigint) {
  const [first, second] = yield* Effect.all([EvmTestChain.make(), EvmTestChain.make({ chainId: 31_338 })], {
    concurrency: "unbounded"
  })
  const operator = first.accounts.stranger
  yield* second.mint(operator.address, balance)
  const assets = [
    { network: first.network, ...first.token },
    { network: second.network, ...second.token }
  ]
  return { first, second, assets, operator } satisfies TwoChains
})

/** Settings of the inventory that differ from the defaults of these tests. */
export interface Settings {
  readonly perDay?: bigint
  readonly fee?: bigint
  readonly farUrl?: string
  readonly nearUrl?: string
}

/** Blocks behind the head from which a block counts as final. */
export const finalityDepth = 2

/** The schemes of the facilitator on both chains. */
export const schemesOf = (
  { assets, first, operator, second }: TwoChains,
  { farUrl = second.rpcUrl, fee: asked = fee, nearUrl = first.rpcUrl, perDay = 1_000_000_000n }: Settings = {}
): ReadonlyArray<FacilitatorScheme> => [
  exactEvm.facilitator({
    signer: first.accounts.signers[0],
    rpcUrl: nearUrl,
    network: first.network,
    assets,
    finalityDepth,
    inventory: {
      signer: operator,
      pairs: [
        {
          to: { network: second.network, rpcUrl: farUrl, finalityDepth },
          fee: asked,
          minimumAmount: 1_000_000n,
          perDay
        }
      ]
    }
  }),
  exactEvm.facilitator({
    signer: second.accounts.signers[1],
    rpcUrl: farUrl,
    network: second.network,
    assets,
    finalityDepth
  })
]

/** How a market is opened. */
export interface Options<E> extends Settings {
  readonly serve: "departed" | "delivered"
  /** The inventory's balance on the second chain. */
  readonly balance?: bigint
  /** Starts the facilitator; its URL. Default one in this process. */
  readonly facilitator?: (market: TwoChains) => Effect.Effect<string, E, Scope.Scope>
}

/** Opens it. */
export const open = Effect.fnUntraced(function* <E = never>({
  balance = 100_000_000n,
  facilitator: start,
  serve,
  ...settings
}: Options<E>) {
  const market = yield* chains(balance)
  const inProcess = Effect.map(TestMarket.settling(schemesOf(market, settings)), ({ facilitator }) => facilitator)
  const facilitator = yield* start === undefined ? inProcess : start(market)
  const { assets, first, operator, second } = market
  const shop = yield* shopOf({
    facilitator,
    schemes: [exactEvm.server({ rpcUrl: first.rpcUrl, network: first.network, assets })],
    network: first.network,
    payTo: first.accounts.payee.address,
    onward: { network: second.network, inventory: operator.address },
    serve
  })
  const buyer = (index: number) => bought(buyerOf(first, assets, operator.address, index), shop.origin)
  return {
    ...market,
    facilitator,
    ...shop,
    buyer,
    received: second.balanceOf(first.accounts.payee.address),
    earned: first.balanceOf(operator.address),
    stock: second.balanceOf(operator.address),
    mineBoth: Effect.all([first.mine(finalityDepth + 1), second.mine(finalityDepth + 1)])
  }
})

/** A shop that is paid on another network than its buyers pay on. */
export interface Shop {
  readonly facilitator: string
  /** The schemes of both networks, where they are of two families. */
  readonly schemes: ReadonlyArray<SchemeServer>
  /** The network that buyers pay on. */
  readonly network: string
  readonly payTo: string
  readonly onward: { readonly network: string; readonly inventory: string }
  readonly serve?: "departed" | "delivered"
}

/** Opens a shop. */
export const shopOf = Effect.fnUntraced(function* ({ facilitator, schemes, ...terms }: Shop) {
  const server = createServer()
  const origin = yield* listen(server)
  let runs = 0
  const router = new Router()
  router.get("/report", (context) => void (context.body = { reports: ++runs }))
  const payment = paymentMiddleware({
    facilitator,
    secret: TestMarket.secret,
    schemes,
    origin,
    router,
    routes: { "GET /report": { price: "$10", maxTimeoutSeconds: 120, ...terms } }
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  return { origin, runs: () => runs }
})

/** One of the buyers: it trusts the operator. */
export const buyerOf = (
  { accounts, network }: EvmTestChain.Shape,
  assets: TwoChains["assets"],
  operator: string,
  index = 0
) =>
  wrapFetch(fetch, {
    schemes: [
      exactEvm.client({
        signer: accounts.payers[index] ?? accounts.payers[0],
        network,
        assets,
        routes: exactEvm.routes({ inventories: [operator] })
      })
    ],
    limits: { perRequest: "$30" }
  })

/** The answer to a purchase; one that the buyer did not make has the status 0. */
export const bought = (buy: typeof fetch, origin: string) =>
  Effect.catch(
    Effect.tryPromise(async () => {
      const response = await buy(`${origin}/report`)
      const settled = settlementOf(response)
      return { status: response.status, body: await response.text(), paymentId: settled?.paymentId ?? "" }
    }),
    ({ cause }) => Effect.succeed({ status: 0, body: String(cause), paymentId: "" })
  )

/** The owner's calls of the test token that block an account. */
export const blocking = parseAbi(["function blacklist(address account)", "function unBlacklist(address account)"])

/** Takes tokens out of an account that has no coin: by its own signed transfer, which a stranger sends. */
export const sweep = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  from: EvmTestChain.Shape["accounts"]["stranger"],
  value: bigint
) {
  const { deployer } = chain.accounts
  const { address: verifyingContract, name, version } = chain.token
  const authorization = {
    from: from.address,
    to: deployer.address,
    value,
    validAfter: 0n,
    validBefore: 4_102_444_800n,
    nonce: `0x${"5e".repeat(32)}` as const
  }
  const domain = { name, version, chainId: chain.chainId, verifyingContract }
  const signature = yield* Effect.promise(() =>
    from.signTypedData({
      domain,
      types: Eip3009.types,
      primaryType: "TransferWithAuthorization",
      message: authorization
    })
  )
  const abi = parseAbi([
    "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"
  ])
  const { nonce, to, validAfter, validBefore } = authorization
  const args = [from.address, to, value, validAfter, validBefore, nonce, signature] as const
  const data = encodeFunctionData({ abi, functionName: "transferWithAuthorization", args })
  yield* chain.send({ from: deployer.address, to: verifyingContract, data })
})
