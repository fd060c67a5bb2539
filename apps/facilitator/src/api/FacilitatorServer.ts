/**
 * The HTTP server: the API, its page and its metrics on one port. It stops in the order of trust: no new requests, then the
 * requests under way get their answers, then the facilitator behind it closes.
 */
import { createServer, type Server } from "node:http"

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import {
  type Facilitator,
  type FacilitatorSchemeRegistry,
  IntakeGate,
  type Misconfigured,
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
import * as Schedule from "effect/Schedule"

import { CallerAuthentication } from "../callers/CallerAuthentication.ts"
import * as CallerTerms from "../callers/CallerTerms.ts"
import * as BrowserRequest from "../http/BrowserRequest.ts"
import * as ConnectionGuard from "../http/ConnectionGuard.ts"
import { RequestFaults } from "../http/RequestFaults.ts"
import { Readiness } from "../readiness/Readiness.ts"
import * as WebhookDeliverer from "../webhooks/WebhookDeliverer.ts"
import { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"
import { layerMetrics, layerNowhere, layerOperation } from "./OperationEndpoints.ts"
import { layerPayments } from "./PaymentEndpoints.ts"
import { layerOffers, layerRecords } from "./RecordEndpoints.ts"

/** How the service is offered. */
export interface Options {
  /** Default `127.0.0.1`. */
  readonly host?: string
  /** Default 4021; 0 takes a free one. */
  readonly port?: number
  /** Who may call; without any, everybody may. */
  readonly callers?: ReadonlyArray<CallerTerms.CallerTerms>
  /** How often one address may ask without a key; without it, as often as it likes. */
  readonly anonymousRates?: CallerTerms.RateTerms
  /**
   * The names besides `localhost` and its own addresses that the service is called by where anybody may call, with a port
   * (`facilitator:8080`) or for any (`facilitator`); default none.
   */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Whether webhooks may go to private networks, and by plain http; default false. */
  readonly webhooksToPrivate?: boolean
  /** What each signer must hold for the service to be ready, by network, in its smallest native unit; default 1. */
  readonly minimumGas?: (network: string) => bigint
  /** How many connections are held at once; default 5000. Above it quiet ones give way. */
  readonly maximumConnections?: number
  /** How long a request may take to arrive, head and body together, in milliseconds; default 15 000. */
  readonly requestTimeoutMillis?: number
  /** How long requests under way may take when the service stops, in milliseconds; default 25 000. */
  readonly stopTimeoutMillis?: number
  /** The door of the facilitator behind it (`LocalFacilitator`'s option `intake`), so that a trouble can close it. */
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
  stopTimeoutMillis: OptionCheck.optional(OptionCheck.whole()),
  intake: OptionCheck.optional(IntakeGate.check)
})

/** Where the running service is. */
export interface Running {
  readonly url: string
  readonly port: number
}

const Api = HttpApiBuilder.layer(FacilitatorHttpApi, { openapiPath: "/openapi.json" }).pipe(
  Layer.provide([layerPayments, layerRecords, layerOffers, layerOperation]),
  Layer.provide(RequestFaults.layer)
)

const Page = HttpApiScalar.layer(FacilitatorHttpApi, {
  path: "/docs",
  scalar: { withDefaultFonts: false }
})

const Routes = Layer.mergeAll(Api, Page, layerMetrics, layerNowhere)

/** With keys it does not matter what page is behind a request. */
const guarded = (callers: ReadonlyArray<CallerTerms.CallerTerms>, allowedHosts: ReadonlyArray<string>) =>
  callers.length > 0 ? Routes : Layer.merge(Routes, BrowserRequest.layer(allowedHosts))

/** The service on a facilitator, as a layer of the HTTP server it runs on. */
export const layer = (
  options: Options = {}
): Layer.Layer<
  HttpServer.HttpServer,
  ServeError | Misconfigured,
  Facilitator | FacilitatorSchemeRegistry.FacilitatorSchemeRegistry | PaymentStore.PaymentStore
> => Layer.unwrap(Effect.map(Effect.fromResult(OptionCheck.read(check, options, "the service")), opened))

const opened = (options: Options) => {
  const { callers = [], host = "127.0.0.1", port = 4021, stopTimeoutMillis = 25_000 } = options
  const connections = { maximum: options.maximumConnections, requestTimeoutMillis: options.requestTimeoutMillis }
  // A field that came twice is read as the list it is, not as the first of the two: who stands before may read the other.
  const server = createServer({ ...ConnectionGuard.serverOptions(connections), joinDuplicateHeaders: true })
  return stopping(server, stopTimeoutMillis).pipe(
    Layer.merge(ConnectionGuard.layer(server, connections)),
    Layer.provideMerge(
      HttpRouter.serve(guarded(callers, options.allowedHosts ?? []), { disableLogger: true, disableListenLog: true })
    ),
    Layer.provide([
      CallerAuthentication.layer({ callers, anonymousRates: options.anonymousRates }),
      Readiness.layer({
        minimumGas: options.minimumGas ?? (() => 1n),
        intake: options.intake ?? IntakeGate.make(),
        budgetedCallers: callers.flatMap(({ gasCeilings, name }) => (gasCeilings === undefined ? [] : [name]))
      })
    ]),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port, gracefulShutdownTimeout: stopTimeoutMillis })),
    Layer.merge(WebhookDeliverer.layer({ callers, allowPrivate: options.webhooksToPrivate ?? false }))
  )
}

/** Runs the service as long as the scope and tells where it is. */
export const serve = Effect.fnUntraced(function* (options: Options = {}) {
  const server = Context.get(yield* Layer.build(layer(options)), HttpServer.HttpServer)
  const url = HttpServer.formatAddress(server.address)
  return { url, port: Number(new URL(url).port || 80) } satisfies Running
})

/**
 * A server that closes waits for its connections, and a kept-alive one ends only when its client likes. So the idle ones
 * are cut as they become idle, and all that are left when the time is over.
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
