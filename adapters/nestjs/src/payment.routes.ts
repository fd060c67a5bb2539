/**
 * The sold handlers and their prices: computed once, when the application starts and before Nest registers its routes.
 * Every mistake that is visible without a request is found here.
 */
import { type HttpServer, Inject, Injectable, Logger, type OnApplicationShutdown } from "@nestjs/common"
import { ApplicationConfig, DiscoveryService, HttpAdapterHost, MetadataScanner, ModulesContainer } from "@nestjs/core"
import {
  DiscoveryPages,
  Misconfigured,
  OptionCheck,
  type PricedRoute,
  type RouteConfig,
  RouteKey,
  Seller,
  VoucherRoute
} from "@pontage/core"
import * as Result from "effect/Result"

import { type RoutedHandler, routedHandlers, type Surroundings } from "./payment.endpoints.ts"
import { gateRequest, type HostRequest, type HostResponse } from "./payment.http.ts"
import * as RouteMap from "./payment.map.ts"
import { moduleCheck, type PaymentModuleOptions } from "./payment.options.ts"
import { PAID_METADATA, PAYMENT_OPTIONS } from "./payment.tokens.ts"

/** A sold handler, and whether `@Paid` or the module's map sells it. */
export interface Sale {
  readonly route: PricedRoute
  readonly seller: Seller.Seller
  readonly by: "decorator" | "map"
}

/** Sales by controller class and handler; `undefined` for a free handler. */
type Sales = Map<object, Map<object, Sale | undefined>>

/** The shop of an application. Inject it to report whether the application is ready. */
@Injectable()
export class PaymentRoutes implements OnApplicationShutdown {
  readonly #options: PaymentModuleOptions
  readonly #host: HttpAdapterHost
  readonly #surroundings: Surroundings
  readonly #logger = new Logger("PaymentModule")
  #seller: Seller.Seller | undefined
  #sales: Sales = new Map()

  constructor(
    @Inject(PAYMENT_OPTIONS) options: PaymentModuleOptions,
    @Inject(ApplicationConfig) application: ApplicationConfig,
    @Inject(DiscoveryService) discovery: DiscoveryService,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(MetadataScanner) scanner: MetadataScanner,
    @Inject(HttpAdapterHost) host: HttpAdapterHost
  ) {
    this.#options = options
    this.#host = host
    this.#surroundings = { application, discovery, modules, scanner }
  }

  /** Opens the shop. Throws `Misconfigured`. */
  open(): void {
    const handlers = routedHandlers(this.#surroundings)
    refuseStrays(this.#surroundings, handlers)
    const { discovery, routes = {}, ...shop } = Result.getOrThrow(OptionCheck.read(moduleCheck, this.#options))
    const seller = Seller.make(shop, { keepsResponses: true })
    this.#seller = seller
    try {
      this.#sales = salesOf(seller, handlers, routes, this.#firstWins())
      const pages = Result.getOrThrow(DiscoveryPages.make(discovery, seller.origin, listedOf(handlers, this.#sales)))
      this.#announce(pages)
      this.#takeVouchers(seller)
    } catch (mistake) {
      void seller.close()
      throw mistake
    }
    seller.ready().catch((error: unknown) => {
      if (error instanceof Misconfigured) this.#logger.error(`Paid routes answer 503: ${error.message}`)
    })
  }

  /**
   * Resolves when every route is proven against chains and facilitator; until then paid routes answer 503. Rejects with
   * `Misconfigured` when chain or facilitator contradict the options.
   */
  async ready(): Promise<void> {
    await this.#seller?.ready()
  }

  /**
   * The sale of a handler; `undefined` if it is free. A handler that did not exist at start, in a controller that
   * sells, is an error: its price is unknown.
   */
  find(controller: object, handler: object): Sale | undefined {
    const handlers = this.#sales.get(controller)
    if (handlers === undefined || handlers.has(handler)) return handlers?.get(handler)
    throw new Misconfigured({ message: "a controller with paid handlers has replaced one of its methods since start" })
  }

  /** Serves the discovery documents as routes of the host itself, in front of those of controllers. */
  #announce({ find, paths }: DiscoveryPages.DiscoveryPages): void {
    const { httpAdapter } = this.#host
    for (const path of paths) {
      const page = find("GET", path)
      httpAdapter.get(path, (_request: unknown, response: unknown) => {
        for (const [name, value] of Object.entries(page?.headers ?? {})) httpAdapter.setHeader(response, name, value)
        return httpAdapter.reply(response, page?.body, page?.status)
      })
    }
  }

  /** Serves the path of vouchers, if a handler is metered, as a route of the host itself too. */
  #takeVouchers(seller: Seller.Seller): void {
    const route = seller.vouchers()
    if (route === undefined) return
    const { httpAdapter } = this.#host
    const take = async (request: HostRequest, response: HostResponse) => {
      const decision = await seller.decide(route, gateRequest(httpAdapter, request))
      const { body, headers, status } = decision._tag === "Refused" ? decision.response : notTaken
      for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value)
      return httpAdapter.reply(response, body, status)
    }
    httpAdapter.post(VoucherRoute.pathOf(route), (request: HostRequest, response: HostResponse) =>
      take(request, response)
    )
  }

  #firstWins(): boolean {
    // Nest 11 knows no strategy but the order of declaration.
    const application: Partial<ApplicationConfig> = this.#surroundings.application
    const bySpecificity = application.getRouteResolutionStrategy?.() === "specificity"
    const server: HttpServer = this.#host.httpAdapter
    return !bySpecificity && (server.isRouteOrderSensitive?.() ?? true)
  }

  /** Closes the shop. Pending requests have ended by now, so their ends can still be reported. */
  async onApplicationShutdown(): Promise<void> {
    await this.#seller?.close()
  }
}

/** The shop is closed. */
const notTaken = { status: 503, headers: {}, body: "" }

const salesOf = (
  seller: Seller.Seller,
  handlers: ReadonlyArray<RoutedHandler>,
  routes: Readonly<Record<string, RouteConfig>>,
  firstWins: boolean
): Sales => {
  const decorated = new Map(handlers.map((routed) => [routed, decorationOf(routed)]))
  const isDecorated = (routed: RoutedHandler) => decorated.get(routed) !== undefined
  const mapped = RouteMap.resolve(routes, { handlers, isDecorated, firstWins })
  const sales: Sales = new Map()
  const selling = new Set<object>()
  for (const routed of handlers) {
    const decoration = decorated.get(routed)
    const config = decoration ?? mapped.get(routed)
    const by = decoration === undefined ? "map" : "decorator"
    const sale = config === undefined ? undefined : ({ seller, by, route: sell(seller, routed, config) } as const)
    if (sale !== undefined) selling.add(routed.controller)
    sales.set(routed.controller, (sales.get(routed.controller) ?? new Map()).set(routed.handler, sale))
  }
  return new Map([...sales].filter(([controller]) => selling.has(controller)))
}

/** The sold handlers by their methods and paths, as far as a key can name them. */
const listedOf = (handlers: ReadonlyArray<RoutedHandler>, sales: Sales) =>
  handlers.flatMap(({ controller, endpoints, handler }) => {
    const sale = sales.get(controller)?.get(handler)
    if (sale === undefined) return []
    return endpoints.flatMap(({ method, path }) => {
      const key = RouteKey.parse(`${method} ${path}`)
      return Result.isSuccess(key) && method !== "ALL" ? [{ key: key.success, route: sale.route }] : []
    })
  })

const decorationOf = ({ controller, declared }: RoutedHandler): RouteConfig | undefined =>
  Reflect.getMetadata(PAID_METADATA, declared) ?? Reflect.getMetadata(PAID_METADATA, controller)

const sell = (seller: Seller.Seller, routed: RoutedHandler, config: RouteConfig): PricedRoute => {
  const { declared, endpoints, handler, name, sendsItself } = routed
  const route = seller.route(endpoints.map(({ method, path }) => `${method} ${path}`).join(", "), config)
  const mistake = (message: string) => new Misconfigured({ message: `${name}: ${message}` })
  if (Reflect.hasMetadata(PAID_METADATA, declared) && !Reflect.hasMetadata(PAID_METADATA, handler)) {
    throw mistake(
      "the method is replaced in its instance, where Nest does not see its decorators; remove the replacement"
    )
  }
  if (endpoints.some(({ method }) => method === "OPTIONS")) {
    throw mistake("OPTIONS is never sold; remove the price of the handler")
  }
  if (route.settle === "after-handler" && sendsItself) {
    throw mistake(
      'settle: "after-handler" holds the response back, but a handler with @Res(), @Next() or @Sse() sends it by itself; return the value (or use @Res({ passthrough: true })), or settle before the handler'
    )
  }
  return route
}

/** Refuses `@Paid` on a method that Nest does not route: it would sell nothing. */
const refuseStrays = ({ discovery, scanner }: Surroundings, handlers: ReadonlyArray<RoutedHandler>): void => {
  const routed = new Set(handlers.map(({ declared }) => declared))
  for (const { metatype, name } of [...discovery.getControllers(), ...discovery.getProviders()]) {
    const prototype: object | undefined = metatype?.prototype
    if (prototype === undefined) continue
    for (const method of scanner.getAllMethodNames(prototype)) {
      const declared: object = Reflect.get(prototype, method)
      if (Reflect.hasMetadata(PAID_METADATA, declared) && !routed.has(declared)) {
        throw new Misconfigured({ message: `${name}.${method}: @Paid sells HTTP handlers, and this method is not one` })
      }
    }
  }
}
