/**
 * The module: import it once, in the root module, and `@Paid` works everywhere.
 */
import { type DynamicModule, Inject, Module, type NestModule, type Provider } from "@nestjs/common"
import { ApplicationConfig, DiscoveryModule } from "@nestjs/core"
import { OptionCheck } from "@pontage/core"
import * as Result from "effect/Result"

import { PaymentRefusedFilter } from "./payment.filter.ts"
import { PaymentGuard, RouteMapGuard } from "./payment.guard.ts"
import { PaymentInterceptor } from "./payment.interceptor.ts"
import { asyncCheck, type PaymentModuleAsyncOptions, type PaymentModuleOptions } from "./payment.options.ts"
import { PaymentRoutes } from "./payment.routes.ts"
import { PAYMENT_OPTIONS } from "./payment.tokens.ts"

/**
 * Sells handlers of the application. A mistake in the options, in a route, or in the map makes `app.init()` (and so
 * `app.listen()`) reject with `Misconfigured`.
 */
@Module({ imports: [DiscoveryModule] })
export class PaymentModule implements NestModule {
  readonly #application: ApplicationConfig
  readonly #routes: PaymentRoutes
  readonly #guard: RouteMapGuard
  readonly #filter: PaymentRefusedFilter

  /** Global interceptors run in the order in which they are added, and the application has added none yet. */
  constructor(
    @Inject(ApplicationConfig) application: ApplicationConfig,
    @Inject(PaymentRoutes) routes: PaymentRoutes,
    @Inject(RouteMapGuard) guard: RouteMapGuard,
    @Inject(PaymentRefusedFilter) filter: PaymentRefusedFilter,
    @Inject(PaymentInterceptor) interceptor: PaymentInterceptor
  ) {
    this.#application = application
    this.#routes = routes
    this.#guard = guard
    this.#filter = filter
    application.addGlobalInterceptor(interceptor)
  }

  /** Options for this shop, as a value. */
  static forRoot<Keys extends string>(options: PaymentModuleOptions<Keys>): DynamicModule {
    return moduleWith({ provide: PAYMENT_OPTIONS, useValue: options }, [])
  }

  /** Options for this shop, made by a factory from other providers. */
  static forRootAsync(options: PaymentModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory } = Result.getOrThrow(OptionCheck.read(asyncCheck, options))
    return moduleWith({ provide: PAYMENT_OPTIONS, inject, useFactory }, imports)
  }

  /**
   * Nest calls this after the application has set its prefix, its versions and its own global guards and filters, and
   * before it registers routes. The guard is added as the last guard, the filter runs first.
   */
  configure(): void {
    this.#routes.open()
    this.#application.addGlobalGuard(this.#guard)
    this.#application.addGlobalFilter(this.#filter)
  }
}

const moduleWith = (options: Provider, imports: NonNullable<PaymentModuleAsyncOptions["imports"]>): DynamicModule => ({
  module: PaymentModule,
  global: true,
  imports,
  providers: [options, PaymentRoutes, PaymentGuard, RouteMapGuard, PaymentInterceptor, PaymentRefusedFilter],
  exports: [PaymentRoutes, PaymentGuard, PaymentRefusedFilter]
})
