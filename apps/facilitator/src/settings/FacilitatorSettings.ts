/**
 * The service's settings, read from the environment at start. A mistake names the variable, shows an example and says what
 * to do; it never shows the value, which may be a secret. All mistakes are told at once, and a variable that is misspelt is
 * one: it might have been the one that locks the door.
 */
import { readFile, stat } from "node:fs/promises"

import { LikelySpelling, Misconfigured, OptionCheck } from "@pontage/core"
import type { EvmAsset } from "@pontage/evm"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

import * as CallerFile from "../callers/CallerFile.ts"
import * as CallerTerms from "../callers/CallerTerms.ts"
import * as ConnectionGuard from "../http/ConnectionGuard.ts"
import * as WebhookTarget from "../webhooks/WebhookTarget.ts"
import { environmentVariables } from "./EnvironmentVariables.ts"
import * as EvmTerms from "./EvmTerms.ts"
import * as StoreSettings from "./StoreSettings.ts"
import * as TonTerms from "./TonTerms.ts"
import * as TronTerms from "./TronTerms.ts"

/** An EVM network to settle on. The address may hold a provider's key, hence it is redacted too. */
export interface EvmNetworkSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly network: string | undefined
  /** What is set apart from the defaults of the scheme. */
  readonly terms?: EvmTerms.EvmTerms
}

/** All settings. */
export interface FacilitatorSettings {
  readonly host: string
  readonly port: number
  readonly callers: ReadonlyArray<CallerTerms.CallerTerms>
  /** The names it is called by without a key, besides this machine's own. */
  readonly allowedHosts: ReadonlyArray<string>
  /** How often one address may ask without a key. */
  readonly anonymousRates: CallerTerms.RateTerms
  readonly store: StoreSettings.StoreSettings
  /** Whether webhooks may go to private networks, and by plain http. */
  readonly webhooksToPrivate: boolean
  /** How many connections are held at once. */
  readonly maximumConnections: number
  /** How long a request may take to arrive. */
  readonly requestTimeoutMillis: number
  readonly settleTimeoutMillis: number
  /** How long records are kept after everything about them is over; for ever without it. */
  readonly retentionHours: number | undefined
  readonly evm: ReadonlyArray<EvmNetworkSettings>
  readonly evmSignerKeys: ReadonlyArray<Redacted.Redacted>
  readonly evmAssets: ReadonlyArray<EvmAsset.CustomAsset>
  readonly evmMinimumGas: bigint
  /** What settling may cost on each network in 24 hours, in wei. */
  readonly evmGasCeiling: bigint | undefined
  /** Left out where nothing is settled on TON. */
  readonly ton?: TonTerms.TonSettings
  /** Left out where nothing is settled on TRON. */
  readonly tron?: TronTerms.TronSettings
}

/** The settings, checked as those of a program that has not read them from the environment. */
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
  settleTimeoutMillis: OptionCheck.whole(),
  retentionHours: OptionCheck.optional(OptionCheck.whole(1)),
  evm: OptionCheck.list(
    OptionCheck.options<EvmNetworkSettings>({
      rpcUrl: OptionCheck.any(),
      network: OptionCheck.optional(OptionCheck.text),
      terms: OptionCheck.any()
    })
  ),
  evmSignerKeys: OptionCheck.list(OptionCheck.any()),
  evmAssets: OptionCheck.any(),
  evmMinimumGas: OptionCheck.amount(),
  evmGasCeiling: OptionCheck.optional(OptionCheck.amount()),
  ton: OptionCheck.any(),
  tron: OptionCheck.any()
})

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings from environment variables. Fails with every mistake in them, one a line. */
export const fromEnvironment = Effect.fnUntraced(function* (
  environment: Environment
): Effect.fn.Return<FacilitatorSettings, Misconfigured> {
  const provider = ConfigProvider.fromEnvRecord({ ...environment }, { preserveEmptyStrings: true })
  const reading = <A, E>(read: Effect.Effect<A, E>) =>
    Effect.provideService(read, ConfigProvider.ConfigProvider, provider)
  const results = yield* reading(Effect.all(environmentVariables, { mode: "result" }))
  const found = Object.values<Result.Result<unknown, Misconfigured>>(results).filter(Result.isFailure)
  const mistakes = [...found.map(({ failure }) => failure.message), ...misspelt(environment)]
  const callers = yield* callersOf({
    apiKeys: Result.getOrUndefined(results.PONTAGE_API_KEYS),
    callersFile: Result.getOrUndefined(results.PONTAGE_CALLERS_FILE),
    rates: ratesOf(Result.getOrUndefined(results.PONTAGE_RATE), Result.getOrUndefined(results.PONTAGE_PAYER_RATE))
  })
  mistakes.push(...callers.mistakes)
  if (mistakes.length > 0) return yield* new Misconfigured({ message: mistakes.join("\n") })
  const values = yield* reading(Effect.all(environmentVariables))
  const contradicting = contradictions(values, callers.callers)
  if (contradicting.length > 0) return yield* new Misconfigured({ message: contradicting.join("\n") })
  return settingsOf(values, callers.callers)
})

type Values = {
  readonly [Name in keyof typeof environmentVariables]: Effect.Success<(typeof environmentVariables)[Name]>
}

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

/** What each variable alone does not show. */
const contradictions = (values: Values, callers: ReadonlyArray<CallerTerms.CallerTerms>): ReadonlyArray<string> => {
  const mistakes = [...chainContradictions(values), ...evmContradictions(values)]
  mistakes.push(...TonTerms.contradictions(values), ...TronTerms.contradictions(values))
  const isAnonymous = values.PONTAGE_ALLOW_ANONYMOUS === "true"
  if (!loopback.test(values.HOST ?? standardHost) && callers.length === 0 && !isAnonymous) {
    mistakes.push(
      "HOST: other machines could settle at your signer's cost; set PONTAGE_API_KEYS or PONTAGE_CALLERS_FILE, or PONTAGE_ALLOW_ANONYMOUS=true where only your own can reach it"
    )
  }
  if (isAnonymous && callers.length > 0) {
    mistakes.push(
      "PONTAGE_ALLOW_ANONYMOUS: there are callers with keys, so none is let in without; take one or the other"
    )
  }
  if (values.PONTAGE_ALLOWED_HOSTS !== undefined && callers.length > 0) {
    mistakes.push("PONTAGE_ALLOWED_HOSTS: callers with keys may call by any name; leave it out")
  }
  if (values.PONTAGE_WEBHOOK_ALLOW_PRIVATE !== "true") mistakes.push(...privateWebhooks(callers))
  return mistakes
}

/** What says where the chains of each family are, and how the names of all its variables begin. */
const families = [
  { prefix: "PONTAGE_EVM_", places: ["PONTAGE_EVM_RPC_URL", "PONTAGE_EVM"] },
  { prefix: "PONTAGE_TON_", places: ["PONTAGE_TON_RPC_URL"] },
  { prefix: "PONTAGE_TRON_", places: ["PONTAGE_TRON_RPC_URL"] }
] as const

/** Any one chain is enough. What is said of a chain that is not there was meant for one that is. */
const chainContradictions = (values: Values): ReadonlyArray<string> => {
  const missing = families.filter(({ places }) => places.every((place) => values[place] === undefined))
  const none =
    missing.length < families.length
      ? []
      : [
          "PONTAGE_EVM_RPC_URL: no chain to settle on; set it, PONTAGE_TON_RPC_URL or PONTAGE_TRON_RPC_URL to the http or https address of a node"
        ]
  const idle = missing.flatMap(({ places, prefix }) =>
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(prefix) && value !== undefined
        ? [`${name}: it says nothing without a node; set ${places.join(" or ")} too`]
        : []
    )
  )
  return [...none, ...idle]
}

const evmContradictions = (values: Values): Array<string> => {
  const mistakes = EvmTerms.withoutSettler(values).map(
    (name) => `${name}: payments travel one by one without PONTAGE_EVM_BATCH_SETTLER; set that too`
  )
  const { PONTAGE_EVM: evm, PONTAGE_EVM_RPC_URL: rpcUrl, PONTAGE_EVM_SIGNER_KEY: key } = values
  if ((evm !== undefined || rpcUrl !== undefined) && key === undefined) {
    mistakes.push("PONTAGE_EVM_SIGNER_KEY: no signer; set it to the private key of the account that pays for gas")
  }
  const alone = ["PONTAGE_EVM_RPC_URL", "PONTAGE_EVM_NETWORK", ...EvmTerms.variableNames] as const
  const also = alone.filter((name) => values[name] !== undefined)
  if (evm !== undefined && also.length > 0) {
    mistakes.push(`PONTAGE_EVM: also ${also.join(", ")} is set; say it in the entry of the network`)
  }
  return mistakes
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

const misspelt = (environment: Environment): Array<string> =>
  Object.keys(environment)
    .filter((name) => /^pontage_/i.test(name) && !Object.hasOwn(environmentVariables, name))
    .map((name) => {
      const names = Object.keys(environmentVariables)
      const likely = LikelySpelling.of(name, names)
      return `${name}: no such setting; ${likely === undefined ? "" : `did you mean ${likely}? `}there are ${names.join(", ")}`
    })

const settingsOf = (values: Values, callers: ReadonlyArray<CallerTerms.CallerTerms>): FacilitatorSettings => {
  const { PONTAGE_STORE: store } = values
  const ton = TonTerms.fromVariables(values)
  const tron = TronTerms.fromVariables(values)
  return {
    host: values.HOST ?? standardHost,
    port: values.PORT ?? 4021,
    callers,
    allowedHosts: values.PONTAGE_ALLOWED_HOSTS?.split(",") ?? [],
    anonymousRates: ratesOf(values.PONTAGE_RATE, values.PONTAGE_PAYER_RATE),
    store: store === undefined ? StoreSettings.standard : StoreSettings.fromText(store),
    webhooksToPrivate: values.PONTAGE_WEBHOOK_ALLOW_PRIVATE === "true",
    maximumConnections: values.PONTAGE_MAX_CONNECTIONS ?? ConnectionGuard.defaultMaximum,
    requestTimeoutMillis: values.PONTAGE_REQUEST_TIMEOUT_MS ?? ConnectionGuard.defaultRequestTimeoutMillis,
    settleTimeoutMillis: values.PONTAGE_SETTLE_TIMEOUT_MS ?? 25_000,
    retentionHours: values.PONTAGE_RETENTION_HOURS,
    evm: evmNetworks(values),
    evmSignerKeys: (values.PONTAGE_EVM_SIGNER_KEY?.split(",") ?? []).map((key) => Redacted.make(key)),
    evmAssets: values.PONTAGE_EVM_ASSETS ?? [],
    evmMinimumGas: values.PONTAGE_EVM_MIN_GAS_WEI ?? 1n,
    evmGasCeiling: values.PONTAGE_EVM_GAS_CEILING_WEI,
    ...(ton && { ton }),
    ...(tron && { tron })
  }
}

const evmNetworks = (values: Values): ReadonlyArray<EvmNetworkSettings> => {
  const { PONTAGE_EVM: evm, PONTAGE_EVM_NETWORK: alone, PONTAGE_EVM_RPC_URL: rpcUrl } = values
  if (evm === undefined) {
    return rpcUrl === undefined
      ? []
      : [{ network: alone, rpcUrl: Redacted.make(rpcUrl), terms: EvmTerms.fromVariables(values) }]
  }
  return evm.map(({ network, rpcUrl, ...terms }) => ({ network, rpcUrl: Redacted.make(rpcUrl), terms }))
}
