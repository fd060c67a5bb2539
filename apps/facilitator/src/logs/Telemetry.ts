/**
 * Traces and metrics for an OpenTelemetry collector, by Effect's exporter: OTLP over HTTP as JSON, to `/v1/traces` and
 * `/v1/metrics` below the collector's address. Off unless an address is set. A collector that does not respond costs the
 * service nothing but the data.
 */
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import * as Redacted from "effect/Redacted"

/** Settings of the export. */
export interface TelemetrySettings {
  /** The collector's address: `http://127.0.0.1:4318`. Some providers' addresses hold a key. */
  readonly url: Redacted.Redacted
  /** Headers of each request, such as a provider's key. */
  readonly headers: ReadonlyMap<string, Redacted.Redacted>
}

/** The interval of both exports. */
const exportInterval = "5 seconds"
/** Longest wait for the collector when the service stops. */
const shutdownTimeout = "2 seconds"

const resource = { serviceName: "pontage-facilitator" }

/** The export as a layer; nothing without settings. */
export const layer = (settings: TelemetrySettings | undefined): Layer.Layer<never> => {
  if (settings === undefined) return Layer.empty
  const base = Redacted.value(settings.url).replace(/\/+$/, "")
  const headers = Object.fromEntries([...settings.headers].map(([name, value]) => [name, Redacted.value(value)]))
  const common = { resource, headers, exportInterval, shutdownTimeout } as const
  return Layer.mergeAll(
    OtlpTracer.layer({ ...common, url: `${base}/v1/traces` }),
    OtlpMetrics.layer({ ...common, url: `${base}/v1/metrics` })
  ).pipe(Layer.provide([FetchHttpClient.layer, OtlpSerialization.layerJson]))
}
