/**
 * The seller's side for host adapters: a gate made from plain options, with a promise API. One `Seller` is one shop in
 * one process, over one runtime.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"

import type { Facilitator } from "../facilitator/Facilitator.ts"
import * as FacilitatorClient from "../facilitator/remote/FacilitatorClient.ts"
import * as FacilitatorByUrl from "../facilitator/x402/FacilitatorByUrl.ts"
import type { Asset } from "../protocol/Asset.ts"
import * as OptionCheck from "../protocol/OptionCheck.ts"
import { FacilitatorUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { SchemeServer } from "../scheme/SchemeServer.ts"
import * as ServerSchemeRegistry from "../scheme/ServerSchemeRegistry.ts"
import * as Refusal from "../wire/pontage/Refusal.ts"
import type { Decision, GateRequest } from "./http/Decision.ts"
import * as GateResponse from "./http/GateResponse.ts"
import { PaymentGate, fromShop, isDecision } from "./PaymentGate.ts"
import * as PricedRoute from "./route/PricedRoute.ts"
import type { PathParams, RouteConfig } from "./route/RouteConfig.ts"
import * as VoucherRoute from "./route/VoucherRoute.ts"
import * as MemoryResponseStore from "./shop/MemoryResponseStore.ts"
import * as PriceResolver from "./shop/PriceResolver.ts"
import type { ResponseStore } from "./shop/ResponseStore.ts"
import * as Shop from "./shop/Shop.ts"

/** Options of a shop, in plain values. */
export interface SellerOptions extends Shop.ShopOptions {
  /** Schemes of the shop, one per network: `exactEvm.server({ rpcUrl })` and the like. */
  readonly schemes: ReadonlyArray<SchemeServer>
  /**
   * The facilitator: its URL; its URL with options, such as headers with a key; or the service itself, for example in
   * this process. A URL may name a facilitator of another kind, which keeps no claims: then this process keeps them,
   * with the limits that `X402Facilitator` names. A layer may take the shop's schemes from the context.
   */
  readonly facilitator: string | FacilitatorClient.Options | FacilitatorLayer
  /**
   * Prices assets that are not dollar stablecoins: the smallest units of `asset` for a price text, or `undefined` to
   * price it as dollars. Called once for a fixed price, at every request for `getPrice`.
   */
  readonly prices?: (price: string, asset: Asset) => bigint | undefined
  /**
   * Keeps the responses of routes with `repeat: "same"`: `SqliteResponseStore.layer({ filename })` or
   * `PostgresResponseStore.layer({ url })` of `@pontage/sql`. Default: in the memory of this process, which a restart
   * empties and other processes of the shop do not see.
   */
  readonly responseStore?: Layer.Layer<ResponseStore, unknown>
}

/** Abilities of a host adapter. */
export interface HostAbilities {
  /** It keeps the responses of granted requests (`Granted.sink`) and sends `Repeated` ones; default `false`. */
  readonly keepsResponses?: boolean
}

/** A facilitator as a service, which may take the shop's schemes from the context. */
export type FacilitatorLayer = Layer.Layer<Facilitator, unknown, ServerSchemeRegistry.ServerSchemeRegistry>

const aFacilitator =
  'the address of a facilitator such as "http://localhost:4021", { url, ... }, or a layer such as LocalFacilitator.layerMemory({ ... })'

const facilitatorCheck = OptionCheck.given(
  aFacilitator,
  (value) => typeof value === "string" || (typeof value === "object" && value !== null)
)

/** The keys of the options, for adapters that add their own. */
export const keys: OptionCheck.Table<SellerOptions> = {
  ...Shop.keys,
  schemes: ServerSchemeRegistry.check,
  facilitator: {
    fault: (value) => OptionCheck.unsetSetting(aFacilitator, value) ?? facilitatorCheck.fault(value)
  },
  prices: OptionCheck.optional(OptionCheck.callable()),
  responseStore: OptionCheck.optional(
    OptionCheck.given("a layer such as MemoryResponseStore.layer({ ... })", (value) => Layer.isLayer(value))
  )
}

const check = OptionCheck.options<SellerOptions>(keys)

/**
 * A shop. `make` and `route` throw `Misconfigured` for a wiring mistake; mistakes that only the chain or the facilitator
 * can show make `ready` reject and keep the routes at 503.
 */
export interface Seller {
  /** The shop's public origin. */
  readonly origin: string
  /** Checks a route; `name` appears in error messages: `GET /report`. Throws `Misconfigured`. */
  readonly route: <Name extends string>(name: Name, config: RouteConfig<PathParams<Name>>) => PricedRoute.PricedRoute
  /** The shop's route for the vouchers of its metered routes; `undefined` while it has none. */
  readonly vouchers: () => PricedRoute.PricedRoute | undefined
  /** Returns a plain value if nothing has to be awaited: unpaid requests cost no promise. Never rejects. */
  readonly decide: (route: PricedRoute.PricedRoute, request: GateRequest) => Decision | Promise<Decision>
  /** Runs an effect of a decision: `seller.run(granted.finish("served"))`. */
  readonly run: <A>(effect: Effect.Effect<A>) => Promise<A>
  /** Resolves when every route so far is proven against chains and facilitator; rejects with `Misconfigured`. */
  readonly ready: () => Promise<void>
  /** Sends the pending reports (within 5 s) and stops. */
  readonly close: () => Promise<void>
}

/**
 * Opens a shop. Throws `Misconfigured` for a mistake in the options. Requests to chains and the facilitator start in
 * the background.
 */
export const make = (given: SellerOptions, { keepsResponses = false }: HostAbilities = {}): Seller => {
  const options = Result.getOrThrow(OptionCheck.read(check, given))
  const prices = options.prices === undefined ? PriceResolver.dollar : PriceResolver.fromFunction(options.prices)
  const { responses, clientAddress, origin, paywall, receipts, secret, voucherPath } = options
  const schemes = Result.getOrThrow(ServerSchemeRegistry.make(options.schemes))
  const shop = Result.getOrThrow(
    Shop.make({
      origin,
      schemes,
      secret,
      prices,
      keepsResponses,
      ...(responses && { responses }),
      ...(clientAddress && { clientAddress }),
      ...(paywall && { paywall }),
      ...(receipts && { receipts }),
      ...(voucherPath !== undefined && { voucherPath })
    })
  )
  const gate = Layer.effect(PaymentGate, fromShop(shop)).pipe(
    Layer.provide(facilitatorOf(options)),
    Layer.provide(options.responseStore === undefined ? MemoryResponseStore.layer() : insistent(options.responseStore)),
    Layer.provide(Layer.succeed(ServerSchemeRegistry.ServerSchemeRegistry, schemes))
  )
  return new OpenShop(shop, ManagedRuntime.make(gate))
}

const facilitatorOf = ({ facilitator }: SellerOptions): FacilitatorLayer => {
  if (isService(facilitator)) return insistent(facilitator)
  const options = typeof facilitator === "string" ? { url: facilitator } : facilitator
  const mistake = Effect.runSyncExit(FacilitatorClient.make(options))
  if (Exit.isFailure(mistake)) throw Cause.squash(mistake.cause)
  return FacilitatorByUrl.layer(options)
}

const isService = (facilitator: SellerOptions["facilitator"]): facilitator is FacilitatorLayer =>
  Layer.isLayer(facilitator)

const pauses = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

/** Restarts a service in this process until it comes up, if its chain or store is down when the shop opens. */
const insistent = <A, R>(layer: Layer.Layer<A, unknown, R>): Layer.Layer<A, unknown, R> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const attempt = Effect.gen(function* () {
        const attemptScope = yield* Scope.fork(scope)
        const memo = yield* Layer.makeMemoMap
        return yield* Effect.onError(Layer.buildWithMemoMap(layer, memo, attemptScope), (cause) =>
          Scope.close(attemptScope, Exit.failCause(cause))
        )
      })
      return yield* attempt.pipe(
        Effect.tapError((error) =>
          Effect.logWarning(`the facilitator or a store did not start and is started again: ${messageOf(error)}`)
        ),
        Effect.retry({ schedule: pauses, while: (error) => !(error instanceof Misconfigured) })
      )
    })
  )

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The decision while the facilitator is not available. */
const unavailable = ({ settle: order, dialects }: PricedRoute.PricedRoute): Decision => ({
  _tag: "Refused",
  response: GateResponse.refused({ dialects, order, crossOrigin: false }, notOpen)
})

const notOpen = Refusal.fromFailure(new FacilitatorUnavailable({ message: "the shop is not open" }))

class OpenShop implements Seller {
  readonly origin: string
  readonly #shop: Shop.Shop
  readonly #runtime: ManagedRuntime.ManagedRuntime<PaymentGate, unknown>
  /** Routes that were made before the gate started. */
  readonly #waiting: Array<PricedRoute.PricedRoute> = []
  readonly #opened: Promise<Exit.Exit<void, Misconfigured>>
  #gate: PaymentGate["Service"] | undefined
  #vouchers: PricedRoute.PricedRoute | undefined

  constructor(shop: Shop.Shop, runtime: ManagedRuntime.ManagedRuntime<PaymentGate, unknown>) {
    this.#shop = shop
    this.origin = shop.origin
    this.#runtime = runtime
    this.#opened = runtime.runPromiseExit(PaymentGate).then((exit) => this.#open(exit))
  }

  #open(exit: Exit.Exit<PaymentGate["Service"], unknown>): Exit.Exit<void, Misconfigured> {
    if (Exit.isSuccess(exit)) {
      this.#gate = exit.value
      for (const route of this.#waiting) this.#runtime.runFork(exit.value.admit(route))
      return Exit.void
    }
    const error = Cause.squash(exit.cause)
    const message = `facilitator or responseStore: could not be started: ${messageOf(error)}`
    Effect.runFork(Effect.logError(message))
    return Exit.fail(error instanceof Misconfigured ? error : new Misconfigured({ message }))
  }

  route<Name extends string>(name: Name, config: RouteConfig<PathParams<Name>>): PricedRoute.PricedRoute {
    const route = Result.getOrThrow(PricedRoute.make(this.#shop, name, config))
    if (this.#gate === undefined) this.#waiting.push(route)
    else this.#runtime.runFork(this.#gate.admit(route))
    return route
  }

  vouchers(): PricedRoute.PricedRoute | undefined {
    if (this.#shop.metered.length === 0) return undefined
    this.#vouchers ??= VoucherRoute.make(this.#shop)
    return this.#vouchers
  }

  decide(route: PricedRoute.PricedRoute, request: GateRequest): Decision | Promise<Decision> {
    if (this.#gate === undefined) return this.#decideOnceOpen(route, request)
    const decision = this.#gate.decideNow(route, request)
    return isDecision(decision) ? decision : this.#runtime.runPromise(decision).catch(() => unavailable(route))
  }

  async #decideOnceOpen(route: PricedRoute.PricedRoute, request: GateRequest): Promise<Decision> {
    await this.#opened
    return this.#gate === undefined ? unavailable(route) : this.decide(route, request)
  }

  /** Runs outside the shop's runtime: an effect that ends after `close` must not reject. */
  run<A>(effect: Effect.Effect<A>): Promise<A> {
    return Effect.runPromise(effect)
  }

  async ready(): Promise<void> {
    const opened = await this.#opened
    if (Exit.isFailure(opened)) throw Cause.squash(opened.cause)
    if (this.#gate !== undefined) await this.#runtime.runPromise(this.#gate.ready)
  }

  close(): Promise<void> {
    return this.#runtime.dispose()
  }
}
