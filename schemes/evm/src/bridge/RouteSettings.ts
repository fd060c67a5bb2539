/** The settings of payments that go on to another network, and the service that they make. */
import { type AssetTable, type ChainHead, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmBridges from "../route/EvmBridges.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import * as ContractDeployment from "../sending/ContractDeployment.ts"
import * as OwnContracts from "../sending/OwnContracts.ts"
import * as BridgeCrossing from "./BridgeCrossing.ts"
import * as CctpAttester from "./CctpAttester.ts"
import * as CoinPrice from "./CoinPrice.ts"
import * as DataFee from "./DataFee.ts"
import * as FarRoute from "./FarRoute.ts"
import * as RouteQuotes from "./RouteQuotes.ts"

/**
 * Settings of routes. The contract `BridgeRouter` (`deployBridgeRouter`) has to be on the chain: its code is checked at start, and so
 * are the bridge's contracts on both chains. Quotes turn gas and messages into the token by the prices of coins, so a price that is too low
 * loses money: a price feed is read for every quote and every payment, and a fixed price is the operator's to follow.
 */
export interface Routes {
  /** The networks that payments may go on to. */
  readonly to: ReadonlyArray<BridgeCrossing.FarNetwork>
  /** The price of one whole coin of this network, in millionths of a dollar; or the address of its price feed on this network. */
  readonly coinPrice: CoinPrice.Given
  /** Seconds after its last update for which the price of a feed is taken; default 90 000, since many are updated once a day. */
  readonly feedMaximumAgeSeconds?: number
  /**
   * The most by which a feed's price may differ from that of its round before, in percent; default 20. Beyond it nothing is quoted or taken
   * until a round comes that agrees with its predecessor: one wrong price would have the operator pay for crossings.
   */
  readonly feedMaximumJumpPercent?: number
  /** The least amount that is sent over a bridge, in the token's smallest unit; default 1 000 000. */
  readonly minimumAmount?: bigint
  /** The account that gets the fees; default the first signer. */
  readonly feeTo?: string
  /** Bridges beside the known ones. */
  readonly bridges?: ReadonlyArray<EvmBridges.CustomBridge>
  /**
   * Seconds after a payment's block for which the bridge's own executor is waited for before the facilitator delivers itself (with
   * `bridgeEvm.deliveries` of the other network); default 120.
   */
  readonly pushAfterSeconds?: number
  /** Payments over Circle's CCTP too. The contract `CctpRouter` (`deployCctpRouter`) has to be on the chain then. */
  readonly cctp?: CctpAttester.Options
}

/** The check of {@link Routes}. */
export const check = OptionCheck.options<Routes>({
  to: OptionCheck.list(
    OptionCheck.options<BridgeCrossing.FarNetwork>({
      rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
      network: OptionCheck.optional(OptionCheck.text),
      coinPrice: CoinPrice.check,
      finalityDepth: OptionCheck.optional(OptionCheck.whole())
    })
  ),
  coinPrice: CoinPrice.check,
  feedMaximumAgeSeconds: OptionCheck.optional(OptionCheck.whole(1)),
  feedMaximumJumpPercent: OptionCheck.optional(OptionCheck.whole(1)),
  minimumAmount: OptionCheck.optional(OptionCheck.amount(1n)),
  feeTo: OptionCheck.optional(OptionCheck.text),
  bridges: OptionCheck.optional(EvmBridges.check),
  pushAfterSeconds: OptionCheck.optional(OptionCheck.whole()),
  cctp: OptionCheck.optional(CctpAttester.check)
})

/** The routes that a facilitator serves, and their quotes. */
export interface RouteService {
  readonly served: RouteQuotes.ServedRoutes
  readonly report: Effect.Effect<RouteQuotes.QuoteReport>
}

/** The facilitator that serves routes. */
export interface RouteOwner {
  /** Its first signer. */
  readonly signer: string
  /** The time for which any node is waited for; `undefined` for the default. */
  readonly rpcTimeoutMillis: number | undefined
}

/** Makes the service: proves the router, connects to the other networks, and proves each crossing of those that answer. */
export const make = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  chainHead: Effect.Effect<ChainHead, ChainUnavailable>,
  assets: AssetTable.AssetTable,
  { rpcTimeoutMillis, signer }: RouteOwner,
  {
    bridges = [],
    cctp,
    coinPrice: price,
    feedMaximumAgeSeconds = 90_000,
    feedMaximumJumpPercent = 20,
    feeTo = signer,
    minimumAmount = 1_000_000n,
    pushAfterSeconds = 120,
    to
  }: Routes
): Effect.fn.Return<RouteService, Misconfigured | ChainUnavailable> {
  const table = yield* Effect.fromResult(EvmBridges.table(bridges))
  const beneficiary = EvmAddress.fromText(feeTo)
  if (beneficiary === undefined) {
    return yield* new Misconfigured({ message: `exactEvm.facilitator: routes.feeTo: "${feeTo}" is not an address` })
  }
  const { routers } = RouteRouters
  yield* ContractDeployment.prove(guard.rpc, OwnContracts.bridgeRouter, routers.oft.address)
  const attester = cctp && (yield* CctpAttester.make(guard.rpc.network, cctp))
  if (attester !== undefined) yield* ContractDeployment.prove(guard.rpc, OwnContracts.cctpRouter, routers.cctp.address)
  const terms = { rpcTimeoutMillis, feedMaximumAgeSeconds, feedMaximumJumpPercent, attester }
  const coinPrice = yield* CoinPrice.make(guard.rpc, price, terms)
  const found = yield* Effect.forEach(
    to,
    (one) => FarRoute.make(one, BridgeCrossing.find(guard.rpc, assets, table, one, terms)),
    { concurrency: "unbounded" }
  )
  const far = found.filter((one) => one !== undefined)
  const dataFee = yield* DataFee.make(guard.rpc)
  const served = { far, coinPrice, dataFee, minimumAmount, feeTo: beneficiary, pushAfterSeconds }
  return { served, report: RouteQuotes.make(guard, served, chainHead) }
})
