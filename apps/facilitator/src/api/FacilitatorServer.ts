/**
 * The HTTP server: the API, its documentation and its metrics on one port. It stops in this order: no new requests, responses
 * to the open requests, then the facilitator behind it closes.
 */
import { createServer, type Server } from "node:http"

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import {
  type Facilitator,
  type FacilitatorSchemeRegistry,
  IntakeGate,
  Misconfigured,
  OptionCheck,
  type PaymentStore
} from "@pontage/core"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"

import { CallerAuthentication } from "../callers/CallerAuthentication.ts"
import * as CallerTerms from "../callers/CallerTerms.ts"
import * as Discovery from "../discovery/Discovery.ts"
import * as BrowserRequest from "../http/BrowserRequest.ts"
import * as ConnectionGuard from "../http/ConnectionGuard.ts"
import { RequestFaults } from "../http/RequestFaults.ts"
import { Readiness } from "../readiness/Readiness.ts"
import * as ReadinessChecks from "../readiness/ReadinessChecks.ts"
import * as WebhookDeliverer from "../webhooks/WebhookDeliverer.ts"
import { layerDiscovery } from "./DiscoveryEndpoints.ts"
import { layerDraws } from "./DrawEndpoints.ts"
import { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"
import { layerMetrics, layerNowhere, layerOperation } from "./OperationEndpoints.ts"
import { layerPayments } from "./PaymentEndpoints.ts"
import { layerOffers, layerRecords } from "./RecordEndpoints.ts"

/** Options of the service. */
export interface Options {
  /** Default `127.0.0.1`. */
  readonly host?: string
  /** Default 4021; 0 takes a free one. */
  readonly port?: number
  /** Callers with keys; without this option everybody may call. */
  readonly callers?: ReadonlyArray<CallerTerms.CallerTerms>
  /** Rate limits of one address without a key; default no limit. */
  readonly anonymousRates?: CallerTerms.RateTerms
  /**
   * Host names that requests without a key may use besides `localhost` and the service's own addresses, with a port
   * (`facilitator:8080`) or for any port (`facilitator`); default none.
   */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Whether webhooks may go to private networks, and by plain http; default false. */
  readonly webhooksToPrivate?: boolean
  /** Least balance of each signer for the service to be ready, by network, in its smallest native unit; default 1. */
  readonly minimumGas?: (network: string) => bigint
  /** Most connections at once; default 5000. Beyond it quiet connections are closed for new ones. */
  readonly maximumConnections?: number
  /** Longest time for a request to arrive, head and body together, in milliseconds; default 15 000. */
  readonly requestTimeoutMillis?: number
  /** Chains of the settings that the service runs without, because their nodes do not respond; default none. */
  readonly missing?: ReadonlyArray<ReadinessChecks.MissingChain>
  /** Longest time for open requests when the service stops, in milliseconds; default 25 000. */
  readonly stopTimeoutMillis?: number
  /** Origins whose sold resources `GET /discovery/resources` lists; default none, and 404 there. */
  readonly discovery?: Discovery.Options
  /** The facilitator's gate for new payments (`LocalFacilitator`'s option `intake`), which a trouble closes. */
  readonly intake?: IntakeGate.IntakeGate
}

const check = OptionCheck.options<Options>({
  host: OptionCheck.optional(OptionCheck.text),
  port: OptionCheck.optional(OptionCheck.whole(0, 65_535)),
  callers: OptionCheck.optional(
    OptionCheck.filled(CallerTerms.check, "give a caller, or leave the option out to let everybody call")
  ),
  anonymousRates: OptionCheck.optional(CallerTerms.rateCheck),
  allowedHosts: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  maximumConnections: OptionCheck.optional(OptionCheck.whole(1)),
  requestTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  webhooksToPrivate: OptionCheck.optional(OptionCheck.flag),
  minimumGas: OptionCheck.optional(OptionCheck.callable()),
  missing: OptionCheck.optional(OptionCheck.list(ReadinessChecks.missingCheck)),
  stopTimeoutMillis: OptionCheck.optional(OptionCheck.whole()),
  discovery: OptionCheck.optional(Discovery.check),
  intake: OptionCheck.optional(IntakeGate.check)
})

/** Address of the running service. */
export interface Running {
  readonly url: string
  readonly port: number
}

const apiOf = (missing: ReadonlyArray<ReadinessChecks.MissingChain>) =>
  HttpApiBuilder.layer(FacilitatorHttpApi, { openapiPath: "/openapi.json" }).pipe(
    Layer.provide([
      layerPayments,
      layerDraws,
      layerRecords,
      layerOffers(missing.map(({ network }) => network)),
      layerDiscovery,
      layerOperation
    ]),
    Layer.provide(RequestFaults.layer)
  )

const Page = HttpApiScalar.layer(FacilitatorHttpApi, {
  path: "/docs",
  scalar: { withDefaultFonts: false }
})

/** Requests with keys need no check for web pages. */
const guarded = ({ allowedHosts = [], callers = [], missing = [] }: Options) => {
  const routes = Layer.mergeAll(apiOf(missing), Page, layerMetrics, layerNowhere)
  return callers.length > 0 ? routes : Layer.merge(routes, BrowserRequest.layer(allowedHosts))
}

/** The service on a facilitator, as a layer of its HTTP server. */
export const layer = (
  options: Options = {}
): Layer.Layer<
  HttpServer.HttpServer,
  ServeError | Misconfigured,
  Facilitator | FacilitatorSchemeRegistry.FacilitatorSchemeRegistry | PaymentStore.PaymentStore
> =>
  Layer.unwrap(
    Effect.map(
      Effect.fromResult(Result.flatMap(OptionCheck.read(check, options, "the service"), withListableOrigins)),
      opened
    )
  )

const withListableOrigins = (options: Options): Result.Result<Options, Misconfigured> => {
  const { discovery } = options
  const problem = discovery && (Discovery.objection(discovery) ?? Discovery.postObjection(discovery))
  return problem === undefined
    ? Result.succeed(options)
    : Result.fail(new Misconfigured({ message: `the service's option discovery: ${problem}` }))
}

const opened = (options: Options) => {
  const { callers = [], host = "127.0.0.1", port = 4021, stopTimeoutMillis = 25_000 } = options
  const connections = { maximum: options.maximumConnections, requestTimeoutMillis: options.requestTimeoutMillis }
  // Duplicate header fields are joined into a list: a proxy could have read the other one of the two.
  const server = createServer({ ...ConnectionGuard.serverOptions(connections), joinDuplicateHeaders: true })
  return stopping(server, stopTimeoutMillis).pipe(
    Layer.merge(ConnectionGuard.layer(server, connections)),
    Layer.provideMerge(HttpRouter.serve(guarded(options), { disableLogger: true, disableListenLog: true })),
    Layer.provide([
      CallerAuthentication.layer({ callers, anonymousRates: options.anonymousRates }),
      Discovery.layer(options.discovery),
      Readiness.layer({
        minimumGas: options.minimumGas ?? (() => 1n),
        intake: options.intake ?? IntakeGate.make(),
        missing: options.missing ?? [],
        budgetedCallers: callers.flatMap(({ gasCeilings, name }) => (gasCeilings === undefined ? [] : [name]))
      })
    ]),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port, gracefulShutdownTimeout: stopTimeoutMillis })),
    Layer.merge(WebhookDeliverer.layer({ callers, allowPrivate: options.webhooksToPrivate ?? false }))
  )
}

/** Runs the service until the scope closes, and returns its address. */
export const serve = Effect.fnUntraced(function* (options: Options = {}) {
  const server = Context.get(yield* Layer.build(layer(options)), HttpServer.HttpServer)
  const url = HttpServer.formatAddress(server.address)
  return { url, port: Number(new URL(url).port || 80) } satisfies Running
})

/**
 * Closes idle connections while the server stops, and all others when the time is over. A closing server waits for its
 * connections, and without this a client could keep one alive for ever.
 */
const stopping = (server: Server, stopTimeoutMillis: number) =>
  Layer.effectDiscard(
    Effect.suspend(() => {
      const closed = Deferred.makeUnsafe<void>()
      server.once("close", () => Deferred.doneUnsafe(closed, Effect.void))
      const cutIdle = Effect.repeat(
        Effect.sync(() => server.closeIdleConnections()),
        Schedule.spaced("50 millis")
      )
      const cutAll = Effect.andThen(
        Effect.raceFirst(cutIdle, Effect.sleep(stopTimeoutMillis)),
        Effect.sync(() => server.closeAllConnections())
      )
      return Effect.addFinalizer(() => Effect.forkDetach(Effect.raceFirst(Deferred.await(closed), cutAll)))
    })
  )
