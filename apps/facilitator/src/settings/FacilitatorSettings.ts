/**
 * Settings of the service, read from the environment at start. A mistake names the variable, shows an example and a remedy; it
 * never shows the value, which may be a secret. All mistakes are reported at once. A misspelt variable is a mistake too: it
 * could be the one that was meant to restrict access.
 */
import { readFile, stat } from "node:fs/promises"

import { LikelySpelling, Misconfigured, OptionCheck } from "@pontage/core"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

import * as CallerTerms from "../callers/CallerTerms.ts"
import * as Discovery from "../discovery/Discovery.ts"
import * as ConnectionGuard from "../http/ConnectionGuard.ts"
import type { TelemetrySettings } from "../logs/Telemetry.ts"
import * as WebhookTarget from "../webhooks/WebhookTarget.ts"
import * as CallerFile from "./CallerFile.ts"
import * as EnvironmentVariable from "./EnvironmentVariable.ts"
import * as EvmSettings from "./EvmSettings.ts"
import * as ServiceVariables from "./ServiceVariables.ts"
import * as StoreSettings from "./StoreSettings.ts"
import * as TelemetryVariables from "./TelemetryVariables.ts"
import * as TonSettings from "./TonSettings.ts"
import * as TronSettings from "./TronSettings.ts"

/** All settings. */
export interface FacilitatorSettings extends EvmSettings.EvmSettings {
  readonly host: string
  readonly port: number
  readonly callers: ReadonlyArray<CallerTerms.CallerTerms>
  /** Host names that requests without a key may use, besides this machine's own. */
  readonly allowedHosts: ReadonlyArray<string>
  /** Rate limits of one address without a key. */
  readonly anonymousRates: CallerTerms.RateTerms
  readonly store: StoreSettings.StoreSettings
  /** Whether webhooks may go to private networks, and by plain http. */
  readonly webhooksToPrivate: boolean
  /** Origins whose sold resources are listed; absent for none. */
  readonly discovery?: Discovery.Options
  /** Most connections at once. */
  readonly maximumConnections: number
  /** Longest time for a request to arrive, head and body together. */
  readonly requestTimeoutMillis: number
  readonly settleTimeoutMillis: number
  /** Age at which a closed record is deleted; without it records are kept for ever. */
  readonly retentionHours: number | undefined
  /** The export of traces and metrics; absent for none. */
  readonly telemetry?: TelemetrySettings
  /** Absent where the service does not settle on TON. */
  readonly ton?: TonSettings.TonSettings
  /** Absent where the service does not settle on TRON. */
  readonly tron?: TronSettings.TronSettings
}

/** Checks the settings of a program that has not read them from the environment. */
export const check: OptionCheck.Check<FacilitatorSettings> = OptionCheck.options<FacilitatorSettings>({
  host: OptionCheck.text,
  port: OptionCheck.whole(0, 65_535),
  callers: OptionCheck.list(CallerTerms.check),
  allowedHosts: OptionCheck.list(OptionCheck.text),
  maximumConnections: OptionCheck.whole(1),
  requestTimeoutMillis: OptionCheck.whole(1),
  anonymousRates: CallerTerms.rateCheck,
  store: OptionCheck.any(),
  webhooksToPrivate: OptionCheck.flag,
  discovery: OptionCheck.optional(Discovery.check),
  settleTimeoutMillis: OptionCheck.whole(),
  retentionHours: OptionCheck.optional(OptionCheck.whole(1)),
  evm: OptionCheck.list(
    OptionCheck.options<EvmSettings.EvmNetworkSettings>({
      rpcUrl: OptionCheck.any(),
      network: OptionCheck.optional(OptionCheck.text),
      terms: OptionCheck.any(),
      channels: OptionCheck.any(),
      routes: OptionCheck.any()
    })
  ),
  evmSignerKeys: OptionCheck.list(OptionCheck.any()),
  evmAssets: OptionCheck.any(),
  evmChannels: OptionCheck.any(),
  evmRoutes: OptionCheck.any(),
  inventory: OptionCheck.any(),
  evmMinimumGas: OptionCheck.amount(),
  evmGasCeiling: OptionCheck.optional(OptionCheck.amount()),
  telemetry: OptionCheck.any(),
  ton: OptionCheck.any(),
  tron: OptionCheck.any()
})

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings from environment variables. Fails with every mistake in them, one a line. */
export const fromEnvironment = Effect.fnUntraced(function* (
  environment: Environment
): Effect.fn.Return<FacilitatorSettings, Misconfigured> {
  const provider = ConfigProvider.fromEnvRecord({ ...environment }, { preserveEmptyStrings: true })
  const read = yield* Effect.provideService(readAll, ConfigProvider.ConfigProvider, provider)
  const { values } = read
  const { apiKeys, callersFile, payerRate, rate } = values.service
  const callers = yield* callersOf({ apiKeys, callersFile, rates: ratesOf(rate, payerRate) })
  const mistakes = [...read.mistakes, ...misspelt(environment), ...callers.mistakes]
  if (mistakes.length > 0) return yield* new Misconfigured({ message: mistakes.join("\n") })
  const contradicting = contradictions(values, callers.callers)
  if (contradicting.length > 0) return yield* new Misconfigured({ message: contradicting.join("\n") })
  return settingsOf(values, callers.callers)
})

const readAll = EnvironmentVariable.readTables(ServiceVariables.tables)

const ratesOf = (rate = "100/200", payerRate = "20/40"): CallerTerms.RateTerms => ({
  rate: CallerFile.rateOf(rate),
  payerRate: CallerFile.rateOf(payerRate)
})

interface CallerSources {
  readonly apiKeys: typeof CallerFile.ApiKeysText.Type | undefined
  readonly callersFile: string | undefined
  readonly rates: CallerTerms.RateTerms
}

/** The callers of the file and of the short list, and what is wrong with them. */
const callersOf = Effect.fnUntraced(function* ({ apiKeys, callersFile, rates }: CallerSources) {
  const listed = apiKeys === undefined ? [] : CallerFile.fromApiKeys(apiKeys, rates)
  if (callersFile === undefined) return checked("PONTAGE_API_KEYS", listed)
  const text = yield* Effect.result(Effect.tryPromise(() => read(callersFile)))
  if (Result.isFailure(text) || text.success === undefined) return unreadable
  const filed = CallerFile.fromText(text.success, rates)
  return Result.isSuccess(filed)
    ? checked("PONTAGE_CALLERS_FILE", [...filed.success, ...listed])
    : { callers: listed, mistakes: filed.failure.map((mistake) => `PONTAGE_CALLERS_FILE: ${mistake}`) }
})

const checked = (variable: string, callers: ReadonlyArray<CallerTerms.CallerTerms>) => ({
  callers,
  mistakes: CallerFile.clashes(callers).map((mistake) => `${variable}: ${mistake}`)
})

const unreadable = {
  callers: [],
  mistakes: [
    "PONTAGE_CALLERS_FILE: the file cannot be read, or is longer than 4 MiB; check the path and who may read it"
  ]
}

const longestFile = 4 * 1024 * 1024

const read = async (path: string): Promise<string | undefined> =>
  (await stat(path)).size > longestFile ? undefined : readFile(path, "utf8")

const standardHost = "127.0.0.1"

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** Contradictions between variables. */
const contradictions = (
  values: ServiceVariables.AllValues,
  callers: ReadonlyArray<CallerTerms.CallerTerms>
): ReadonlyArray<string> => {
  const { allowAnonymous, allowedHosts, host = standardHost, webhookAllowPrivate } = values.service
  const mistakes = [
    ...chainContradictions(values),
    ...EvmSettings.contradictions(values, callers, {
      tron: TronSettings.networkOf(values),
      ton: TonSettings.networkOf(values),
      tonKeys: values.ton.signerKey
    }),
    ...TonSettings.contradictions(values),
    ...TronSettings.contradictions(values)
  ]
  const isAnonymous = allowAnonymous === "true"
  if (!loopback.test(host) && callers.length === 0 && !isAnonymous) {
    mistakes.push(
      "HOST: other machines could settle at your signer's cost; set PONTAGE_API_KEYS or PONTAGE_CALLERS_FILE, or PONTAGE_ALLOW_ANONYMOUS=true where only your own can reach it"
    )
  }
  if (isAnonymous && callers.length > 0) {
    mistakes.push(
      "PONTAGE_ALLOW_ANONYMOUS: callers with keys are set, so every request needs a key; remove one of the two"
    )
  }
  if (allowedHosts !== undefined && callers.length > 0) {
    mistakes.push("PONTAGE_ALLOWED_HOSTS: requests with keys may use any host name; remove it")
  }
  mistakes.push(...discoveryMistakes(values.service))
  if (webhookAllowPrivate !== "true") mistakes.push(...privateWebhooks(callers))
  return mistakes
}

const discoveryOf = ({
  discoveryAllowPrivate,
  discoveryOrigins,
  discoveryPosts
}: ServiceVariables.AllValues["service"]): Discovery.Options | undefined =>
  discoveryOrigins === undefined
    ? undefined
    : {
        origins: discoveryOrigins.split(","),
        allowPrivate: discoveryAllowPrivate === "true",
        ...(discoveryPosts !== undefined && { posts: discoveryPosts.split(",") })
      }

const discoveryMistakes = (service: ServiceVariables.AllValues["service"]): ReadonlyArray<string> => {
  const options = discoveryOf(service)
  if (options === undefined) {
    const alone = [
      ...(service.discoveryAllowPrivate === undefined ? [] : ["PONTAGE_DISCOVERY_ALLOW_PRIVATE"]),
      ...(service.discoveryPosts === undefined ? [] : ["PONTAGE_DISCOVERY_POSTS"])
    ]
    return alone.map((name) => `${name}: it has no effect without origins; set PONTAGE_DISCOVERY_ORIGINS too`)
  }
  const problem = Discovery.objection(options)
  const mend = options.allowPrivate ? "" : "; PONTAGE_DISCOVERY_ALLOW_PRIVATE=true allows private networks and http"
  const posts = Discovery.postObjection(options)
  return [
    ...(problem === undefined ? [] : [`PONTAGE_DISCOVERY_ORIGINS: ${problem}${mend}`]),
    ...(posts === undefined ? [] : [`PONTAGE_DISCOVERY_POSTS: ${posts}`])
  ]
}

/** Variables of each family: a common prefix, and those of which one must name a node. */
const families = [
  { prefix: "PONTAGE_EVM_", nodes: ["PONTAGE_EVM_RPC_URL", "PONTAGE_EVM"] },
  { prefix: "PONTAGE_TON_", nodes: ["PONTAGE_TON_RPC_URL"] },
  { prefix: "PONTAGE_TRON_", nodes: ["PONTAGE_TRON_RPC_URL"] }
]

/** One chain of any family is enough. A variable of a family without a node is a mistake. */
const chainContradictions = (values: ServiceVariables.AllValues): ReadonlyArray<string> => {
  const set = ServiceVariables.allNamesSet(values)
  const missing = families.filter(({ nodes }) => !nodes.some((name) => set.includes(name)))
  const none =
    missing.length < families.length
      ? []
      : [
          "PONTAGE_EVM_RPC_URL: no chain to settle on; set it, PONTAGE_TON_RPC_URL or PONTAGE_TRON_RPC_URL to the http or https address of a node"
        ]
  const idle = missing.flatMap(({ nodes, prefix }) =>
    set
      .filter((name) => name.startsWith(prefix))
      .map((name) => `${name}: it has no effect without a node; set ${nodes.join(" or ")} too`)
  )
  return [...none, ...idle]
}

const privateWebhooks = (callers: ReadonlyArray<CallerTerms.CallerTerms>): ReadonlyArray<string> =>
  callers.flatMap(({ name, webhook }) => {
    const objection = webhook && WebhookTarget.objection(new URL(Redacted.value(webhook.url)), false)
    return objection === undefined
      ? []
      : [
          `PONTAGE_CALLERS_FILE: the webhook of ${name}: ${objection}; PONTAGE_WEBHOOK_ALLOW_PRIVATE=true allows it for all`
        ]
  })

const misspelt = (environment: Environment): ReadonlyArray<string> => {
  const names = ServiceVariables.variableNames
  return Object.keys(environment)
    .filter((name) => /^pontage_/i.test(name) && !names.includes(name))
    .map((name) => {
      const likely = LikelySpelling.of(name, names)
      return `${name}: no such setting; ${likely === undefined ? "" : `did you mean ${likely}? `}there are ${names.join(", ")}`
    })
}

const settingsOf = (
  values: ServiceVariables.AllValues,
  callers: ReadonlyArray<CallerTerms.CallerTerms>
): FacilitatorSettings => {
  const { service } = values
  const discovery = discoveryOf(service)
  const ton = TonSettings.fromValues(values)
  const tron = TronSettings.fromValues(values)
  const telemetry = TelemetryVariables.telemetryOf(values.telemetry)
  return {
    host: service.host ?? standardHost,
    port: service.port ?? 4021,
    callers,
    allowedHosts: service.allowedHosts?.split(",") ?? [],
    anonymousRates: ratesOf(service.rate, service.payerRate),
    store: service.store === undefined ? StoreSettings.standard : StoreSettings.fromText(service.store),
    webhooksToPrivate: service.webhookAllowPrivate === "true",
    maximumConnections: service.maximumConnections ?? ConnectionGuard.defaultMaximum,
    requestTimeoutMillis: service.requestTimeoutMillis ?? ConnectionGuard.defaultRequestTimeoutMillis,
    settleTimeoutMillis: service.settleTimeoutMillis ?? 25_000,
    retentionHours: service.retentionHours,
    ...EvmSettings.fromValues(values),
    ...(discovery && { discovery }),
    ...(telemetry && { telemetry }),
    ...(ton && { ton }),
    ...(tron && { tron })
  }
}
