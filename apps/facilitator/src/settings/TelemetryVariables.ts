/** Settings of the log and of the export to an OpenTelemetry collector. */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import * as LogFormat from "../logs/LogFormat.ts"
import type { TelemetrySettings } from "../logs/Telemetry.ts"
import { make, RpcUrl, type Values } from "./EnvironmentVariable.ts"

/** `name=value` with commas between, as OpenTelemetry's own variable has them. */
const Headers = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9-]+=[\x21-\x2b\x2d-\x7e]+(?:,[A-Za-z0-9-]+=[\x21-\x2b\x2d-\x7e]+)*$/)
)

/** The variables; `form` and `level` are read by `LogFormat.fromVariables`, before all others. */
export const table = {
  form: make("PONTAGE_LOG", "text or json", "json", Schema.Literals(LogFormat.forms)),
  level: make("PONTAGE_LOG_LEVEL", "debug, info, warn or error", "info", Schema.Literals(LogFormat.levels)),
  otlpUrl: make("PONTAGE_OTLP_URL", "the address of an OpenTelemetry collector", "http://127.0.0.1:4318", RpcUrl),
  otlpHeaders: make("PONTAGE_OTLP_HEADERS", "headers as name=value with commas between", "x-api-key=<key>", Headers)
}

/** The export of these values; `undefined` where none is wanted. */
export const telemetryOf = ({ otlpHeaders, otlpUrl }: Values<typeof table>): TelemetrySettings | undefined => {
  if (otlpUrl === undefined) return undefined
  const pairs = otlpHeaders === undefined ? [] : otlpHeaders.split(",")
  const headers = pairs.map((pair): readonly [string, Redacted.Redacted] => {
    const at = pair.indexOf("=")
    return [pair.slice(0, at), Redacted.make(pair.slice(at + 1))]
  })
  return { url: Redacted.make(otlpUrl), headers: new Map(headers) }
}
