/**
 * Environment variables of the service itself, and the tables of all variables.
 */
import * as Schema from "effect/Schema"

import * as BrowserRequest from "../http/BrowserRequest.ts"
import * as CallerFile from "./CallerFile.ts"
import { flag, make, namesSet, type Values, whole } from "./EnvironmentVariable.ts"
import * as EvmSettings from "./EvmSettings.ts"
import * as StoreSettings from "./StoreSettings.ts"
import * as TelemetryVariables from "./TelemetryVariables.ts"
import * as TonSettings from "./TonSettings.ts"
import * as TronSettings from "./TronSettings.ts"

const service = {
  host: make("HOST", "an address to listen on", "127.0.0.1", Schema.NonEmptyString),
  port: whole("PORT", "a port", { minimum: 0, maximum: 65_535 }, "4021"),
  store: make(
    "PONTAGE_STORE",
    "memory, sqlite: and a file, or the postgres:// address of a database",
    "sqlite:./payments.sqlite",
    Schema.String.check(Schema.makeFilter(StoreSettings.isStoreText))
  ),
  callersFile: make(
    "PONTAGE_CALLERS_FILE",
    "the path of a JSON file of callers",
    "./callers.json",
    Schema.NonEmptyString
  ),
  apiKeys: make(
    "PONTAGE_API_KEYS",
    "a JSON list of keys of at least 16 printable characters or their digests as sha256:<hex>, each a text or an object with key and payees",
    `'["<key>",{"key":"sha256:<hex>","payees":["0x<address>"]}]'`,
    CallerFile.ApiKeysText
  ),
  rate: make(
    "PONTAGE_RATE",
    "requests a second and burst, each from 1 to 999999, with a slash between",
    "100/200",
    CallerFile.RateText
  ),
  payerRate: make(
    "PONTAGE_PAYER_RATE",
    "payments a second and burst, each from 1 to 999999, with a slash between",
    "20/40",
    CallerFile.RateText
  ),
  webhookAllowPrivate: flag("PONTAGE_WEBHOOK_ALLOW_PRIVATE", "true"),
  allowAnonymous: flag("PONTAGE_ALLOW_ANONYMOUS", "true"),
  allowedHosts: make(
    "PONTAGE_ALLOWED_HOSTS",
    "names, each with a port or for any, separated by commas",
    "facilitator,localhost:8080",
    Schema.String.check(Schema.makeFilter((text) => text.split(",").every(BrowserRequest.isHost)))
  ),
  discoveryOrigins: make(
    "PONTAGE_DISCOVERY_ORIGINS",
    "origins of shops, separated by commas",
    "https://shop.example,https://api.example",
    Schema.NonEmptyString
  ),
  discoveryPosts: make(
    "PONTAGE_DISCOVERY_POSTS",
    "URLs of listed origins, separated by commas",
    "https://shop.example/render",
    Schema.NonEmptyString
  ),
  discoveryAllowPrivate: flag("PONTAGE_DISCOVERY_ALLOW_PRIVATE", "true"),
  maximumConnections: whole("PONTAGE_MAX_CONNECTIONS", "connections", { minimum: 10, maximum: 100_000 }, "5000"),
  requestTimeoutMillis: whole(
    "PONTAGE_REQUEST_TIMEOUT_MS",
    "milliseconds",
    { minimum: 1000, maximum: 60_000 },
    "15000"
  ),
  settleTimeoutMillis: whole("PONTAGE_SETTLE_TIMEOUT_MS", "milliseconds", { minimum: 1000, maximum: 120_000 }, "25000"),
  retentionHours: whole("PONTAGE_RETENTION_HOURS", "hours", { minimum: 24, maximum: 876_000 }, "9600")
}

/** All variables. A new variable is one entry of one of these tables, and a row of the README. */
export const tables = {
  service,
  telemetry: TelemetryVariables.table,
  ...EvmSettings.tables,
  ...TonSettings.tables,
  ...TronSettings.tables
}

/** Values of all variables. */
export type AllValues = { readonly [Name in keyof typeof tables]: Values<(typeof tables)[Name]> }

/** Names of all variables. */
export const variableNames: ReadonlyArray<string> = Object.values(tables).flatMap((table) =>
  Object.values(table).map(({ name }) => name)
)

/** Names of all variables that are set. */
export const allNamesSet = (values: AllValues): ReadonlyArray<string> => {
  const options = new Map<string, object>(Object.entries(values))
  return Object.entries(tables).flatMap(([name, table]) => namesSet(table, options.get(name) ?? {}))
}
