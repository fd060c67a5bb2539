/**
 * The seller's decision, without a framework: given a priced route and the facts of a request, run the handler or send
 * this response. Host adapters translate for it; the protocol is nowhere else.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import { Facilitator } from "../facilitator/Facilitator.ts"
import { Entropy } from "../platform/Entropy.ts"
import { Hash } from "../platform/Hash.ts"
import * as RepeatedWarning from "../platform/RepeatedWarning.ts"
import * as OptionCheck from "../protocol/OptionCheck.ts"
import { FacilitatorUnavailable, type Misconfigured } from "../protocol/ProtocolError.ts"
import { ServerSchemeRegistry } from "../scheme/ServerSchemeRegistry.ts"
import * as Refusal from "../wire/pontage/Refusal.ts"
import * as SellerDialects from "../wire/SellerDialects.ts"
import type { Decision, Free, GateRequest, Refused } from "./http/Decision.ts"
import * as GateResponse from "./http/GateResponse.ts"
import * as Navigation from "./http/Navigation.ts"
import * as RequestTarget from "./http/RequestTarget.ts"
import * as Challenge from "./offer/Challenge.ts"
import * as OnwardOffers from "./offer/OnwardOffers.ts"
import * as PaywallPage from "./offer/PaywallPage.ts"
import type { PricedRequest } from "./offer/RouteOffer.ts"
import * as SubmittedForm from "./offer/SubmittedForm.ts"
import * as UnpaidResponses from "./offer/UnpaidResponses.ts"
import * as PaidRequest from "./PaidRequest.ts"
import * as ClaimsInDoubt from "./request/ClaimsInDoubt.ts"
import * as ExecutionLeases from "./request/ExecutionLeases.ts"
import * as PaymentRefusal from "./request/PaymentRefusal.ts"
import * as RequestTerms from "./request/RequestTerms.ts"
import * as VoucherPost from "./request/VoucherPost.ts"
import * as PricedRoute from "./route/PricedRoute.ts"
import type { PathParams, RouteConfig } from "./route/RouteConfig.ts"
import * as BuyerPlace from "./shop/BuyerPlace.ts"
import * as MemoryResponseStore from "./shop/MemoryResponseStore.ts"
import * as NetworkReadiness from "./shop/NetworkReadiness.ts"
import { PriceResolver } from "./shop/PriceResolver.ts"
import { ResponseStore } from "./shop/ResponseStore.ts"
import * as Shop from "./shop/Shop.ts"

/** The service. */
export class PaymentGate extends Context.Service<
  PaymentGate,
  {
    /** Checks a route's configuration, and starts to check it against its chains. `name` appears in error messages. */
    readonly route: <Name extends string>(
      name: Name,
      config: RouteConfig<PathParams<Name>>
    ) => Effect.Effect<PricedRoute.PricedRoute, Misconfigured>
    /**
     * Takes a route that was checked against the same shop (`PricedRoute.make`), and starts to check it against its
     * chains.
     */
    readonly admit: (route: PricedRoute.PricedRoute) => Effect.Effect<void>
    /** Never fails: a request that cannot be decided is `Refused`. */
    readonly decide: (route: PricedRoute.PricedRoute, request: GateRequest) => Effect.Effect<Decision>
    /** The same for hosts that count microseconds: returns the decision itself if it needs no waiting. */
    readonly decideNow: (route: PricedRoute.PricedRoute, request: GateRequest) => Decision | Effect.Effect<Decision>
    /** Completes when every route so far is proven against its chains; fails with the first contradiction. */
    readonly ready: Effect.Effect<void, Misconfigured>
  }
>()("@pontage/core/PaymentGate") {}

const ownOptions = OptionCheck.options<Shop.ShopOptions>(Shop.keys)

/**
 * A gate with a shop of its own, for the schemes and the prices of the context. Responses that come again are kept in the
 * `ResponseStore` of the context, or in memory if it has none.
 */
export const make = Effect.fnUntraced(function* (options: Shop.ShopOptions) {
  const checked = yield* Effect.fromResult(OptionCheck.read(ownOptions, options))
  const prices = yield* PriceResolver
  const schemes = yield* ServerSchemeRegistry
  return yield* fromShop(yield* Effect.fromResult(Shop.make({ ...checked, prices, schemes })))
})

/** A gate as a layer; routes are added with `route`. */
export const layer = (
  options: Shop.ShopOptions
): Layer.Layer<PaymentGate, Misconfigured, Facilitator | PriceResolver | ServerSchemeRegistry> =>
  Layer.effect(PaymentGate, make(options))

/** The gate of a shop that is already checked. */
export const fromShop = Effect.fnUntraced(function* (shop: Shop.Shop) {
  const facilitator = yield* Facilitator
  const clock = yield* Clock.Clock
  const hash = yield* Hash
  const entropy = yield* Entropy
  const proofs = yield* FiberSet.make()
  const fork = yield* FiberSet.runtime(proofs)()
  const executions = yield* ExecutionLeases.make(facilitator)
  const warn = yield* RepeatedWarning.make
  const store = Option.getOrUndefined(yield* Effect.serviceOption(ResponseStore)) ?? (yield* MemoryResponseStore.make())
  const signer = { hash, secret: shop.secrets[0], secrets: shop.secrets, origin: shop.origin }
  const context: GateContext = {
    clock,
    shop,
    paid: {
      signer,
      entropy,
      executions,
      doubts: ClaimsInDoubt.make(signer, clock),
      responses: { store, ...shop.responses },
      receipts: shop.receipts,
      warn
    },
    unpaid: UnpaidResponses.make({ signer, receipts: shop.receipts, warn }, entropy),
    renew: (proof, now) => {
      const renewing = NetworkReadiness.renew(proof, facilitator, now)
      if (renewing !== undefined) fork(renewing)
    }
  }
  const admit = (route: PricedRoute.PricedRoute) =>
    Effect.forEach(route.options, ({ proof }) => FiberSet.run(proofs, NetworkReadiness.run(proof, facilitator)), {
      discard: true
    })
  return PaymentGate.of({
    admit,
    route: (name, config) => Effect.tap(Effect.fromResult(PricedRoute.make(shop, name, config)), admit),
    decide: (route, request) => Effect.suspend(() => toEffect(decide(context, route, request))),
    decideNow: (route, request) => decide(context, route, request),
    ready: Effect.suspend(() =>
      Effect.forEach([...shop.proofs.values()], ({ done }) => Deferred.await(done), {
        concurrency: "unbounded",
        discard: true
      })
    )
  })
})

/** Services that every request needs. */
interface GateContext {
  readonly shop: Shop.Shop
  readonly clock: Clock.Clock
  readonly paid: PaidRequest.PaidRequestContext
  readonly unpaid: UnpaidResponses.UnpaidResponses
  /** Requests newer quotes behind the response, unless that was done just now. */
  readonly renew: (proof: NetworkReadiness.NetworkReadiness, now: number) => void
}

type Deciding = Decision | Effect.Effect<Decision>

/** Whether `decideNow` returned the decision itself. */
export const isDecision = (deciding: Decision | Effect.Effect<Decision>): deciding is Decision =>
  !Effect.isEffect(deciding)

const toEffect = (deciding: Deciding): Effect.Effect<Decision> =>
  isDecision(deciding) ? Effect.succeed(deciding) : deciding

const decide = (context: GateContext, route: PricedRoute.PricedRoute, request: GateRequest): Deciding => {
  if (request.method === "OPTIONS") return preflight
  if (RequestTarget.isAmbiguous(request.target)) return ambiguous
  if (route.takesVouchers === true) {
    const { shop, paid } = context
    const { facilitator } = paid.executions
    const decision = VoucherPost.decide({ shop, ...paid, facilitator }, route, request)
    return closed(route, BuyerPlace.named(paid.signer, shop.addressOf(request), decision))
  }
  const file = PaywallPage.fileFor(context.shop, request)
  if (file !== undefined) return file
  const { bind, price, validate } = route
  if (validate === undefined && bind === "none" && typeof price !== "function") {
    return decidePriced(context, route, request, { amounts: price, bodyDigest: request.bodyDigest })
  }
  const services = { prices: context.shop.prices, hash: context.paid.signer.hash }
  return closed(
    route,
    Effect.matchEffect(RequestTerms.find(services, route, request, isHopeless(context.shop, route, request)), {
      onSuccess: (terms) => toEffect(decidePriced(context, route, request, terms)),
      onFailure: (failure) =>
        failure._tag === "NotSold"
          ? Effect.succeed<Refused>({ _tag: "Refused", response: failure.response })
          : Effect.as(
              context.paid.warn(`${route.name} is not priced`, `${route.name}: ${failure.message}`),
              turnedAway(route, failure.refusal, request.header("origin") !== undefined)
            )
    })
  )
}

/** Whether the response is a page that does not repeat its form, so that no payment for it will come. */
const isHopeless = ({ paywall }: Shop.Shop, { dialects }: PricedRoute.PricedRoute, request: GateRequest): boolean =>
  paywall !== undefined &&
  Navigation.isNavigation(request) &&
  Navigation.isForm(request) &&
  SubmittedForm.isStrangers(request) &&
  SellerDialects.readPayment(dialects, request.header) === undefined

const decidePriced = (
  context: GateContext,
  route: PricedRoute.PricedRoute,
  request: GateRequest,
  { amounts, bodyDigest, unbound }: RequestTerms.RequestTerms
): Deciding => {
  if (amounts[0] === 0n) return free
  const crossOrigin = request.header("origin") !== undefined
  const unproven = route.options.find(({ proof }) => proof.state !== "proven")
  if (unproven !== undefined) return turnedAway(route, Refusal.notReady, crossOrigin)
  const now = context.clock.currentTimeMillisUnsafe()
  const epoch = Challenge.epochAt(now)
  const method = request.method === "HEAD" ? "GET" : request.method
  const target = RequestTarget.of(request.target)
  const { pattern = "" } = request
  const onward = OnwardOffers.find(route, amounts, now)
  for (const stale of onward?.stale ?? []) context.renew(stale, now)
  const priced: PricedRequest = { route, method, pattern, target, amounts, bodyDigest, ...(onward && { onward }) }
  const found = SellerDialects.readPayment(route.dialects, request.header)
  const unsold: Refused | undefined = unbound && { _tag: "Refused", response: unbound }
  if (found === undefined) {
    if (onward?.made.length === 0) {
      return turnedAway(route, Refusal.naming(Refusal.notReady, onward.unquoted), crossOrigin)
    }
    const refused = unsold ?? context.unpaid.responseTo(priced, epoch, crossOrigin, now)
    const { paywall } = context.shop
    if (paywall === undefined || !Navigation.isNavigation(request)) return refused
    const page = { paywall, origin: context.shop.origin, warn: context.paid.warn }
    return Effect.flatMap(toEffect(refused), (decision) => PaywallPage.over(page, request, priced, decision))
  }
  if (unsold !== undefined) return unsold
  const { presented, dialects } = found
  const clientAddress = context.shop.addressOf(request)
  const { native } = request
  const gated = { priced, epoch, now, isHead: request.method === "HEAD", crossOrigin, dialects, clientAddress, native }
  return closed(
    route,
    Result.isSuccess(presented)
      ? PaidRequest.take(context.paid, { ...gated, ...presented.success })
      : PaymentRefusal.refused(context.paid, { ...gated, accepted: undefined }, presented.failure)
  )
}

const free: Free = { _tag: "Free" }

const ambiguous: Refused = { _tag: "Refused", response: GateResponse.ambiguousTarget }

/** OPTIONS never runs a priced handler. */
const preflight: Refused = { _tag: "Refused", response: GateResponse.preflight([]) }

/** A refusal without offers: nothing could be paid now. */
const turnedAway = (route: PricedRoute.PricedRoute, refusal: Refusal.Refusal, crossOrigin: boolean): Refused => ({
  _tag: "Refused",
  response: GateResponse.refused({ dialects: route.dialects, order: route.settle, crossOrigin }, refusal)
})

/** A defect in this code must not open the gate: it is logged, and the payer may repeat the request. */
const closed = (route: PricedRoute.PricedRoute, decision: Effect.Effect<Decision>): Effect.Effect<Decision> =>
  Effect.catchDefect(decision, (defect) =>
    Effect.as(
      Effect.logError(`${route.name}: a defect prevented a decision on the request`, defect),
      turnedAway(route, Refusal.fromFailure(new FacilitatorUnavailable({ message: "a defect" })), false)
    )
  )
