/**
 * Payments by routes against the chain: the route is one of those served, its fee covers the present cost, and the router accepts the
 * call, with the price of the bridge's message as its value.
 */
import { type ChainUnavailable, invalid, Misconfigured, type PaymentError, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { BridgeCrossing } from "../bridge/BridgeCrossing.ts"
import * as OftCalls from "../bridge/OftCalls.ts"
import * as RouteQuotes from "../bridge/RouteQuotes.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type { SignedRoute } from "../payment/RouteReading.ts"
import * as IssuerFee from "../route/IssuerFee.ts"
import * as RouteCall from "../route/RouteCall.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as ContractPayers from "./ContractPayers.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"

/** A crossing, and the terms of all that are served. */
interface ServedRoute {
  readonly crossing: BridgeCrossing
  readonly served: RouteQuotes.ServedRoutes
}

/** The crossing of a payment's route; fails where the route has a part that the payer or the shop has made up. */
const servedRoute = Effect.fnUntraced(function* (
  routes: ExactEvmChain["routes"],
  { asset, kind, network, route }: SignedRoute
): Effect.fn.Return<ServedRoute, ValidationError | ChainUnavailable> {
  const crossing = routes && (yield* RouteQuotes.crossingOf(routes.served, network, route))
  const isServed = crossing !== undefined && (kind === "cctp") === (crossing.attester !== undefined)
  if (routes === undefined || !isServed || crossing.far.token !== asset) {
    return yield* refused("unserved", `leads to ${network} by a bridge that is not served here; pay by another option`)
  }
  const { feeTo, minimumAmount } = routes.served
  if (route.options !== RouteQuotes.optionsOf(crossing))
    return yield* refused("options", "has other options than those quoted")
  if (route.feeRecipient !== feeTo) return yield* refused("fee_recipient", "pays its fee to another account")
  if (route.amount < minimumAmount) {
    return yield* refused("amount", `sends ${route.amount}; at least ${minimumAmount} are sent over a bridge here`)
  }
  return { crossing, served: routes.served }
})

/** The call that settles a routed payment, without the price of its message. */
export const callOf = (
  chain: ExactEvmChain,
  { authorization, signature, token }: SignedAuthorization,
  { route }: SignedRoute
): Effect.Effect<TransferCall, PaymentError | ValidationError | ChainUnavailable> =>
  RouteCall.make(chain.callContext, EvmAsset.domain(token), { authorization, route, signature }, 0n)

/**
 * The same with the price of its message, which is asked at each call and never kept: a message that is paid too little reverts, and one
 * that has become dear is paid by the operator. Fails where the payer's fee does not cover the cost now. The gas is not estimated: a
 * stranger may have sent the call meanwhile.
 */
export const pricedCall = Effect.fnUntraced(function* (
  { chainHead, lagGuard, routes }: ExactEvmChain,
  call: TransferCall,
  signed: SignedRoute
): Effect.fn.Return<TransferCall, PaymentError | ValidationError | ChainUnavailable> {
  const { crossing, served } = yield* servedRoute(routes, signed)
  const { route } = signed
  const price = yield* RouteQuotes.priceOf(lagGuard, served, crossing, chainHead, { route, data: call.data })
  return yield* covered(call, signed, price)
})

/** The call with the value for its message; fails where there is no message, or where the payer's fee or the issuer's part is too small. */
const covered = Effect.fnUntraced(function* (
  call: TransferCall,
  { route }: SignedRoute,
  price: RouteQuotes.RoutePrice | undefined
): Effect.fn.Return<TransferCall, ValidationError> {
  if (price === undefined) return yield* refused("message", "is refused by its bridge now; pay by another option")
  if (route.fee < price.cost) {
    return yield* refused(
      "fee",
      `has a fee of ${route.fee}, and it costs ${price.cost} now; request the resource again and pay by its new quote`
    )
  }
  const issuers = IssuerFee.of(route.amount, price.rate)
  if (route.amount - route.minimum < issuers) {
    return yield* refused(
      "issuer_fee",
      `lets the issuer take ${route.amount - route.minimum}, and it takes ${issuers} now; request the resource again and pay by its new quote`
    )
  }
  return { ...call, value: price.value }
})

/**
 * The value of a transaction that replaces another one, whose value was `before`. It is never less than the message costs now, since it
 * would revert then; nor more than `before` unless the payer's fee is known to cover the cost. Where neither can be had, the bytes before
 * stay until it can, or until the payment is over. The call is not tried again: what a stranger has done to the payment meanwhile must
 * not hold the lane up.
 */
export const valueNow = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  { route: signed }: SignedAuthorization,
  before: bigint
): Effect.fn.Return<bigint | undefined, Misconfigured> {
  if (signed === undefined) return undefined
  const { route } = signed
  const price = yield* Effect.catch(priceNow(chain, signed), ({ message }) => Effect.succeed(message))
  if (typeof price === "object" && price.cost <= route.fee) return price.value
  if (typeof price === "object") {
    return yield* kept(`the payer's fee is ${route.fee}, and it costs ${price.cost} now`)
  }
  const fee = yield* Effect.catch(OftCalls.messageFee(chain.lagGuard, route), () => Effect.undefined)
  if (fee !== undefined && RouteQuotes.valueFor(fee) <= before) return before
  return yield* kept(`the price of its message is ${fee === undefined ? "not known now" : `${fee} wei`}: ${price}`)
})

/** The price of a route now, or the reason why it is not known. */
const priceNow = Effect.fnUntraced(function* ({ chainHead, lagGuard, routes }: ExactEvmChain, signed: SignedRoute) {
  const crossing = routes && (yield* RouteQuotes.crossingOf(routes.served, signed.network, signed.route))
  if (routes === undefined || crossing === undefined) return "its route is not configured any more"
  const price = yield* RouteQuotes.priceOf(lagGuard, routes.served, crossing, chainHead, { route: signed.route })
  return price ?? "its bridge refuses the message now"
})

const kept = (why: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `its bytes stay, since ${why}` }))

/**
 * Verifies: the payer's account is a plain one, the fee covers the cost now, and the call succeeds, sent by any of the signers. The cost
 * has the call's own gas by an estimate, and later prices count that one too.
 */
export const verify = Effect.fnUntraced(function* (
  { chainHead, from, lagGuard, network, routes }: ExactEvmChain,
  call: TransferCall,
  signed: SignedRoute
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable> {
  const { crossing, served } = yield* servedRoute(routes, signed)
  // The code of the payer's account would run instead of a check of its key's signature. It is looked for before the estimate: such code
  // takes whatever gas it likes, and a refused payment would raise the prices of all others.
  if ((yield* ContractPayers.codeAt(lagGuard, call.payer)) !== "0x") return yield* RouteCall.plainAccountsAlone
  const { data, gas: limit, to } = call
  const estimated = Effect.fnUntraced(function* (value: bigint) {
    const outcome = yield* lagGuard.judge(
      (block) => lagGuard.rpc.estimateGas({ from, to, data, value }, block),
      ({ _tag }) => _tag === "Reverted"
    )
    if (outcome._tag === "Estimated") return outcome.gas < limit ? outcome.gas : limit
    return yield* EvmRefusal.fromRevert(network, yield* EvmRevert.explain(outcome))
  })
  const { route } = signed
  const price = yield* RouteQuotes.priceOf(lagGuard, served, crossing, chainHead, { route, data, gas: estimated })
  // Also where the fee is refused now: without it the next quote would be as low, and so refused again.
  if (price !== undefined) crossing.lastGas.departing = price.departing
  const { value = 0n } = yield* covered(call, signed, price)
  const outcome = yield* lagGuard.judge(
    (block) => lagGuard.rpc.call({ from, to, data, gas: limit, value }, block),
    ({ _tag }) => _tag === "Reverted"
  )
  if (outcome._tag === "Reverted") return yield* EvmRefusal.fromRevert(network, yield* EvmRevert.explain(outcome))
})

const refused = (rule: string, what: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `route_${rule}`, `the payment's route ${what}`))
