/**
 * Endpoints for the operator: liveness, readiness, metrics.
 */
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"

import { NotReady, Readiness } from "../readiness/Readiness.ts"
import { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"

/** `GET /live` and `GET /ready`. */
export const layerOperation = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "operation",
  Effect.fnUntraced(function* (handlers) {
    const readiness = yield* Readiness
    return handlers.handleAll({
      live: () => Effect.succeed({ live: true as const }),
      ready: () =>
        Effect.flatMap(readiness.report, (report) =>
          report.ready ? Effect.succeed(report) : Effect.fail(new NotReady(report))
        )
    })
  })
)

/** `GET /metrics`: Prometheus text. The signers' balances come from the readiness report. */
export const layerMetrics = Layer.unwrap(
  Effect.map(Readiness, (readiness) =>
    HttpRouter.add(
      "GET",
      "/metrics",
      Effect.map(Effect.andThen(readiness.report, PrometheusMetrics.format()), (text) =>
        HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
      )
    )
  )
)

/** Any other path: 404 with a fault. */
export const layerNowhere = HttpRouter.use((router) =>
  Effect.forEach(["GET", "POST", "PUT", "PATCH", "DELETE"] as const, (method) => router.add(method, "/*", nowhere), {
    discard: true
  })
)

const nowhere = Effect.sync(() =>
  HttpServerResponse.jsonUnsafe(
    { error: "unknown_endpoint", message: "there is no such endpoint; GET /docs lists them all" },
    { status: 404 }
  )
)
