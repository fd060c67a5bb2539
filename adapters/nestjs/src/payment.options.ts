/** Options of `PaymentModule`, as a value or from other providers. */
import type { FactoryProvider, ModuleMetadata } from "@nestjs/common"
import { DiscoveryOptions, OptionCheck, type RouteMap, Seller } from "@pontage/core"

/** Options of `PaymentModule.forRoot`. */
export interface PaymentModuleOptions<Keys extends string = string> extends Seller.SellerOptions {
  /**
   * Prices for handlers without `@Paid`, by `<METHOD> <path>` with the application's prefix and version:
   * `GET /api/reports/:day`. A key sells every handler whose path it covers (`GET /api/files/*`), the most specific key
   * wins, and GET stands for HEAD too. A key without a handler, and a handler that is covered only in part, are errors at
   * start. `@Paid` overrides the map. The functions of a key read the parameters that it names (`params.day`); the handler's path
   * has to name them the same.
   */
  readonly routes?: RouteMap<Keys>
  /**
   * Serves `/openapi.json` of the listed handlers with their prices, for buyers' agents, and `/llms.txt` if wanted. Default:
   * the shop announces nothing. The application has no routes of its own at these paths then.
   */
  readonly discovery?: DiscoveryOptions.DiscoveryOptions
}

/** Options of `PaymentModule.forRootAsync`: a factory and its injected arguments. */
export interface PaymentModuleAsyncOptions {
  /** The modules that provide the arguments. */
  readonly imports?: NonNullable<ModuleMetadata["imports"]>
  /** The factory's arguments, by their tokens. */
  readonly inject?: NonNullable<FactoryProvider["inject"]>
  readonly useFactory: FactoryProvider<PaymentModuleOptions>["useFactory"]
}

/** The options, checked. */
export const moduleCheck: OptionCheck.Check<PaymentModuleOptions> = OptionCheck.options<PaymentModuleOptions>({
  ...Seller.keys,
  routes: OptionCheck.optional(OptionCheck.record(OptionCheck.any())),
  discovery: OptionCheck.optional(DiscoveryOptions.check)
})

/** The options of the factory's form, checked; its result is checked when it is made. */
export const asyncCheck: OptionCheck.Check<PaymentModuleAsyncOptions> = OptionCheck.options<PaymentModuleAsyncOptions>({
  imports: OptionCheck.optional(OptionCheck.given("a list of modules", Array.isArray)),
  inject: OptionCheck.optional(OptionCheck.given("a list of tokens", Array.isArray)),
  useFactory: OptionCheck.callable()
})
