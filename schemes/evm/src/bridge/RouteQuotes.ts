/**
 * The price of a crossing for its payer, in the token: the message's price, and the gas of both chains. A quote has a margin over the
 * present cost, and holds for some minutes; a payment's fee has to cover the cost at its verification, whatever was quoted.
 */
import {
  ChainUnavailable,
  type ChainHead,
  type PaymentError,
  type UnquotedNetwork,
  type UnquotedReason,
  type ValidationError
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { BridgeRoute } from "../route/BridgeRoute.ts"
import type { BridgeCrossing } from "./BridgeCrossing.ts"
import * as CctpCalls from "./CctpCalls.ts"
import type { CoinPrice } from "./CoinPrice.ts"
import * as DataFee from "./DataFee.ts"
import type { FarRoute } from "./FarRoute.ts"
import * as OftCalls from "./OftCalls.ts"

/** The crossings that a facilitator serves, and its terms. */
export interface ServedRoutes {
  readonly far: ReadonlyArray<FarRoute>
  /** The price of one whole coin of the first network, in millionths of a dollar. */
  readonly coinPrice: CoinPrice
  readonly minimumAmount: bigint
  readonly feeTo: EvmAddress.Address
  /** The first network's fee for the data of a transaction. */
  readonly dataFee: DataFee.DataFee
  /** Seconds after a payment's block for which the bridge's own executor is waited for. */
  readonly pushAfterSeconds: number
}

/** Seconds for which a quote holds, and milliseconds for which it is given to all who ask. */
export const quoteSeconds = 600
const freshMillis = 30_000
/** The time that a caller waits for a quote: for the first one, and for one that replaces another. */
const firstWait = "3 seconds"
const nextWait = "1 second"

/** The quote's margin over the cost, in percent; the cost may rise by it while the quote holds. */
const margin = 130n

/**
 * Gas that a departure with one verifier network and a delivery to a new recipient take. A quote is made for the gas of the last payment
 * over its crossing, where that was more.
 */
const oftGas = { departing: 400_000n, delivering: 200_000n }
/** The same over CCTP. */
const cctpGas = { departing: 250_000n, delivering: 250_000n }

/** The value that is sent for a message: a tenth more than its price, since that may rise; the router returns the rest. */
export const valueFor = (messageFee: bigint): bigint => (messageFee * 11n) / 10n

/** The executor's options: gas for the token's contract on the other chain (type 3, `lzReceive`). */
const executorOptions: EvmHex.Hex = `0x000301001101${200_000n.toString(16).padStart(32, "0")}`

/** The options of routes over a crossing. */
export const optionsOf = ({ attester }: BridgeCrossing): EvmHex.Hex => attester?.options ?? executorOptions

/** The issuer's fee: what its attester says, or what its messenger asks at least. */
const rateOf = (
  { rpc }: EvmLagGuard.EvmLagGuard,
  { attester, far, near }: BridgeCrossing
): Effect.Effect<bigint, ChainUnavailable> =>
  attester === undefined
    ? Effect.succeed(0n)
    : Effect.zipWith(attester.rate(near.endpointId, far.endpointId), CctpCalls.leastRate(rpc, near.bridge), greater, {
        concurrent: true
      })

const million = 1_000_000n
const coin = 10n ** 18n

/** The price of a route now. */
export interface RoutePrice {
  /** The value that the transaction brings for the message, in wei; zero over CCTP. */
  readonly value: bigint
  /** The issuer's part of the amount on the way, as `IssuerFee` counts it; zero for an OFT. */
  readonly rate: bigint
  /** The gas of the departure that is counted in the cost. */
  readonly departing: bigint
  /** The cost of both chains and of the message, in the smallest unit of the route's token. */
  readonly cost: bigint
}

/** The transaction of a route, as far as it is known. */
interface RouteTransaction {
  /** The part of a route that its message depends on. */
  readonly route: Parameters<typeof OftCalls.messageFee>[1]
  /** Its calldata, which a rollup's data fee depends on; default some of usual length. */
  readonly data?: EvmHex.Hex
  /** Its gas with a message of this value; default that of the last payment. */
  readonly gas?: (value: bigint) => Effect.Effect<bigint, ChainUnavailable | ValidationError | PaymentError>
}

/** The price of a route, from one read of the message's price; `undefined` where the bridge sends no such message. */
export const priceOf = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  { coinPrice, dataFee }: ServedRoutes,
  crossing: BridgeCrossing,
  chainHead: Effect.Effect<ChainHead, ChainUnavailable>,
  { data = usualCall, gas, route }: RouteTransaction
): Effect.fn.Return<RoutePrice | undefined, ChainUnavailable | ValidationError | PaymentError> {
  const { attester, chain, decimals, lastGas } = crossing
  const usualGas = attester === undefined ? oftGas : cctpGas
  const fee = attester === undefined ? yield* OftCalls.messageFee(guard, route) : 0n
  if (fee === undefined) return undefined
  const rate = yield* rateOf(guard, crossing)
  const value = valueFor(fee)
  const [departing, near, far, nearData, farData, nearPrice, farPrice] = yield* Effect.all(
    [
      gas === undefined ? Effect.succeed(greater(lastGas.departing, usualGas.departing)) : gas(value),
      chainHead,
      chain.chainHead,
      dataFee(data),
      chain.dataFee(usualDelivery),
      coinPrice,
      chain.coinPrice
    ],
    { concurrency: "unbounded" }
  )
  const wei = value + departing * (yield* gasPrice(guard.rpc.network, near)) + nearData
  const farWei = usualGas.delivering * (yield* gasPrice(chain.network, far)) + farData
  const scaled = (wei * nearPrice + farWei * farPrice) * 10n ** BigInt(decimals)
  return { value, rate, departing, cost: (scaled + coin * million - 1n) / (coin * million) }
})

/** The price of a unit of gas, in wei. A head without fees has none: gas would be free. */
const gasPrice = (network: string, { fees }: ChainHead): Effect.Effect<bigint, ChainUnavailable> =>
  fees === undefined
    ? Effect.fail(new ChainUnavailable({ network, message: `the price of gas on ${network} is not known` }))
    : Effect.succeed(fees.maximum)

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Calldata as long as that of a payment, and of a delivery, which a rollup cannot make shorter. */
const usualCall = DataFee.sample(740)
const usualDelivery = DataFee.sample(400)

/** The crossing of a route; `undefined` where it is not one of those served, and the reason while it is switched off. */
export const crossingOf = Effect.fnUntraced(function* (
  { far: all }: ServedRoutes,
  network: string,
  { bridge, destination, token }: Pick<BridgeRoute, "bridge" | "destination" | "token">
): Effect.fn.Return<BridgeCrossing | undefined, ChainUnavailable> {
  for (const one of all) {
    if (one.network !== network) continue
    const found = (yield* one.crossings).find(
      ({ far, near }) => near.token === token && near.bridge === bridge && far.endpointId === destination
    )
    if (found !== undefined) return found
  }
  return undefined
})

/** A quote, as it travels: the terms of every route over one crossing. */
export type Quote = Readonly<Record<string, Schema.Json>>

/** A failure to quote. */
export type QuoteFailure = ChainUnavailable | ValidationError | PaymentError

/** The quotes of all crossings, and the networks that cannot be quoted now. */
export interface QuoteReport {
  readonly quotes: ReadonlyArray<Quote>
  readonly unquoted: ReadonlyArray<UnquotedNetwork>
}

/**
 * Makes the effect that quotes all crossings: those whose chains respond. Each crossing is quoted by itself, at most twice a minute, and
 * its last quote is given while a newer one is made: a chain that hangs delays an answer for a second at most.
 */
export const make = (
  guard: EvmLagGuard.EvmLagGuard,
  served: ServedRoutes,
  chainHead: Effect.Effect<ChainHead, ChainUnavailable>
): Effect.Effect<QuoteReport> => {
  const made = new Map<BridgeCrossing, Effect.Effect<Quote | UnquotedReason>>()
  const quoteOf = (crossing: BridgeCrossing) => {
    const known =
      made.get(crossing) ?? renewing(quoted(guard, served, crossing, chainHead), `routes to ${crossing.chain.network}`)
    made.set(crossing, known)
    return known
  }
  const report = ({ crossings, network }: FarRoute) =>
    Effect.match(
      Effect.flatMap(crossings, (found) => Effect.forEach(found, quoteOf, { concurrency: "unbounded" })),
      {
        onSuccess: (quotes): QuoteReport => ({
          quotes: quotes.filter((quote) => typeof quote !== "string"),
          unquoted: quotes.filter((quote) => typeof quote === "string").map((reason) => ({ network, reason }))
        }),
        onFailure: (error): QuoteReport => ({ quotes: [], unquoted: [{ network, reason: reasonOf(error) }] })
      }
    )
  return Effect.map(Effect.forEach(served.far, report, { concurrency: "unbounded" }), (reports) => ({
    quotes: reports.flatMap(({ quotes }) => quotes),
    unquoted: reports.flatMap(({ unquoted }) => unquoted)
  }))
}

/** The public reason of a failure. */
const reasonOf = (error: QuoteFailure): UnquotedReason =>
  (error._tag === "ChainUnavailable" ? error.lack : undefined) ?? "node_unavailable"

/**
 * The quote that an effect makes, anew twice a minute at most, or the reason why there is none; `name` names it in the log, which alone
 * has the failure's own text.
 */
export const renewing = (
  make: Effect.Effect<Quote, QuoteFailure>,
  name: string
): Effect.Effect<Quote | UnquotedReason> => {
  let last: Quote | undefined
  let reason: UnquotedReason | undefined
  let notBefore = 0
  let renewal: Fiber.Fiber<void> | undefined
  const renew = Effect.catch(
    Effect.map(make, (quote) => void (last = quote)),
    (error) => {
      last = undefined
      reason = reasonOf(error)
      return Effect.logWarning(`${name} cannot be quoted now: ${error.message}`)
    }
  ).pipe(Effect.ensuring(Effect.sync(() => void (renewal = undefined))))
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now >= notBefore) {
      notBefore = now + freshMillis
      renewal = yield* Effect.forkDetach(renew)
    }
    if (renewal !== undefined) {
      yield* Effect.raceFirst(
        Fiber.await(renewal),
        Effect.sleep(last === undefined && reason === undefined ? firstWait : nextWait)
      )
    }
    return last !== undefined && Number(last["quotedUntil"]) * 1000 > now ? last : (reason ?? "node_unavailable")
  })
}

const quoted = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  served: ServedRoutes,
  crossing: BridgeCrossing,
  chainHead: Effect.Effect<ChainHead, ChainUnavailable>
) {
  const { feeTo, minimumAmount } = served
  const { chain, far, near } = crossing
  const route = {
    bridge: near.bridge,
    destination: far.endpointId,
    recipient: feeTo,
    amount: minimumAmount,
    minimum: minimumAmount,
    options: optionsOf(crossing)
  }
  const price = yield* priceOf(guard, served, crossing, chainHead, { route })
  if (price === undefined) {
    const message = `the OFT ${EvmAddress.checksum(near.bridge)} quotes no message`
    return yield* new ChainUnavailable({ network: guard.rpc.network, message, lack: "bridge_unavailable" })
  }
  const quote: Quote = {
    kind: crossing.attester === undefined ? "oft" : "cctp",
    from: EvmAddress.checksum(near.token),
    network: chain.network,
    asset: EvmAddress.checksum(far.token),
    bridge: EvmAddress.checksum(near.bridge),
    destination: far.endpointId,
    fee: `${(price.cost * margin + 99n) / 100n}`,
    feeTo: EvmAddress.checksum(feeTo),
    options: optionsOf(crossing),
    ...(crossing.attester !== undefined && { issuerRate: `${(price.rate * margin + 99n) / 100n}` }),
    minimumAmount: `${minimumAmount}`,
    quotedUntil: Math.floor((yield* Clock.currentTimeMillis) / 1000) + quoteSeconds
  }
  return quote
})
