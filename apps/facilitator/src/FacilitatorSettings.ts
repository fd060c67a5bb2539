/**
 * The service's settings, read from the environment at start. A mistake names the variable, shows an example and says what
 * to do; it never shows the value, which may be a secret. All mistakes are told at once, and a variable that is misspelt is
 * one: it might have been the one that locks the door.
 */
import { readFile, stat } from "node:fs/promises"

import { Misconfigured } from "@pontage/core"
import type { EvmAsset } from "@pontage/evm"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

import * as CallerFile from "./CallerFile.ts"
import type { CallerTerms, RateTerms } from "./CallerTerms.ts"
import { environmentVariables } from "./EnvironmentVariables.ts"
import * as EvmTerms from "./EvmTerms.ts"
import * as StoreSettings from "./StoreSettings.ts"
import * as WebhookTarget from "./WebhookTarget.ts"

/**
 * An EVM network to settle on. The address may hold a provider's key, hence it is redacted too.
 *
 * @category models
 */
export interface EvmNetworkSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly network: string | undefined
  /** What is set apart from the defaults of the scheme. */
  readonly terms?: EvmTerms.EvmTerms
}

/**
 * All settings.
 *
 * @category models
 */
export interface FacilitatorSettings {
  readonly host: string
  readonly port: number
  readonly callers: ReadonlyArray<CallerTerms>
  /** How often one address may ask without a key. */
  readonly anonymousRates: RateTerms
  readonly store: StoreSettings.StoreSettings
  /** Whether webhooks may go to private networks, and by plain http. */
  readonly webhooksToPrivate: boolean
  readonly settleTimeoutMillis: number
  readonly evm: ReadonlyArray<EvmNetworkSettings>
  readonly evmSignerKeys: ReadonlyArray<Redacted.Redacted>
  readonly evmAssets: ReadonlyArray<EvmAsset.CustomAsset>
  readonly evmMinimumGas: bigint
  /** What settling may cost on each network in 24 hours, in wei. */
  readonly evmGasCeiling: bigint | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings from environment variables. Fails with every mistake in them, one a line.
 *
 * @category constructors
 */
export const fromEnvironment = Effect.fnUntraced(function* (
  environment: Environment
): Effect.fn.Return<FacilitatorSettings, Misconfigured> {
  const provider = ConfigProvider.fromEnvRecord({ ...environment }, { preserveEmptyStrings: true })
  const results = yield* Effect.provideService(readAll, ConfigProvider.ConfigProvider, provider)
  const found = Object.values<Result.Result<unknown, Misconfigured>>(results).filter(Result.isFailure)
  const mistakes = [...found.map(({ failure }) => failure.message), ...misspelt(environment)]
  const values = valuesOf(results)
  const callers = yield* callersOf(values)
  mistakes.push(...callers.mistakes)
  if (mistakes.length === 0) mistakes.push(...contradictions(values, callers.callers))
  if (mistakes.length > 0) return yield* new Misconfigured({ message: mistakes.join("\n") })
  return settingsOf(values, callers.callers)
})

const evmTerms = {
  PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: environmentVariables.PONTAGE_EVM_MAX_FEE_PER_GAS_WEI(),
  PONTAGE_EVM_FINALITY_DEPTH: environmentVariables.PONTAGE_EVM_FINALITY_DEPTH(),
  PONTAGE_EVM_VERIFY_WINDOW_MS: environmentVariables.PONTAGE_EVM_VERIFY_WINDOW_MS(),
  PONTAGE_EVM_CONTRACT_PAYERS: environmentVariables.PONTAGE_EVM_CONTRACT_PAYERS(),
  PONTAGE_EVM_BATCH_SETTLER: environmentVariables.PONTAGE_EVM_BATCH_SETTLER(),
  PONTAGE_EVM_BATCH_MAXIMUM: environmentVariables.PONTAGE_EVM_BATCH_MAXIMUM(),
  PONTAGE_EVM_BATCH_WINDOW_MS: environmentVariables.PONTAGE_EVM_BATCH_WINDOW_MS()
}

const readAll = Effect.suspend(() =>
  Effect.all(
    {
      host: environmentVariables.HOST(),
      port: environmentVariables.PORT(),
      store: environmentVariables.PONTAGE_STORE(),
      callersFile: environmentVariables.PONTAGE_CALLERS_FILE(),
      apiKeys: environmentVariables.PONTAGE_API_KEYS(),
      rate: environmentVariables.PONTAGE_RATE(),
      payerRate: environmentVariables.PONTAGE_PAYER_RATE(),
      webhooksToPrivate: environmentVariables.PONTAGE_WEBHOOK_ALLOW_PRIVATE(),
      anonymous: environmentVariables.PONTAGE_ALLOW_ANONYMOUS(),
      settleTimeoutMillis: environmentVariables.PONTAGE_SETTLE_TIMEOUT_MS(),
      rpcUrl: environmentVariables.PONTAGE_EVM_RPC_URL(),
      network: environmentVariables.PONTAGE_EVM_NETWORK(),
      ...evmTerms,
      evm: environmentVariables.PONTAGE_EVM(),
      signerKeys: environmentVariables.PONTAGE_EVM_SIGNER_KEY(),
      assets: environmentVariables.PONTAGE_EVM_ASSETS(),
      minimumGas: environmentVariables.PONTAGE_EVM_MIN_GAS_WEI(),
      gasCeiling: environmentVariables.PONTAGE_EVM_GAS_CEILING_WEI()
    },
    { mode: "result" }
  )
)

type Results = Effect.Success<typeof readAll>

const valuesOf = (results: Results) => ({
  host: Result.getOrUndefined(results.host) ?? "127.0.0.1",
  port: Result.getOrUndefined(results.port) ?? 4021,
  store: Result.getOrUndefined(results.store),
  callersFile: Result.getOrUndefined(results.callersFile),
  apiKeys: Result.getOrUndefined(results.apiKeys),
  rates: {
    rate: CallerFile.rateOf(Result.getOrUndefined(results.rate) ?? "100/200"),
    payerRate: CallerFile.rateOf(Result.getOrUndefined(results.payerRate) ?? "20/40")
  },
  webhooksToPrivate: Result.getOrUndefined(results.webhooksToPrivate) === "true",
  anonymous: Result.getOrUndefined(results.anonymous) === "true",
  settleTimeoutMillis: Result.getOrUndefined(results.settleTimeoutMillis) ?? 25_000,
  rpcUrl: Result.getOrUndefined(results.rpcUrl),
  network: Result.getOrUndefined(results.network),
  evmTerms: {
    PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: Result.getOrUndefined(results.PONTAGE_EVM_MAX_FEE_PER_GAS_WEI),
    PONTAGE_EVM_FINALITY_DEPTH: Result.getOrUndefined(results.PONTAGE_EVM_FINALITY_DEPTH),
    PONTAGE_EVM_VERIFY_WINDOW_MS: Result.getOrUndefined(results.PONTAGE_EVM_VERIFY_WINDOW_MS),
    PONTAGE_EVM_CONTRACT_PAYERS: Result.getOrUndefined(results.PONTAGE_EVM_CONTRACT_PAYERS),
    PONTAGE_EVM_BATCH_SETTLER: Result.getOrUndefined(results.PONTAGE_EVM_BATCH_SETTLER),
    PONTAGE_EVM_BATCH_MAXIMUM: Result.getOrUndefined(results.PONTAGE_EVM_BATCH_MAXIMUM),
    PONTAGE_EVM_BATCH_WINDOW_MS: Result.getOrUndefined(results.PONTAGE_EVM_BATCH_WINDOW_MS)
  } satisfies EvmTerms.EvmTermVariables,
  evm: Result.getOrUndefined(results.evm),
  signerKeys: Result.getOrUndefined(results.signerKeys)?.split(",") ?? [],
  assets: Result.getOrUndefined(results.assets) ?? [],
  minimumGas: Result.getOrUndefined(results.minimumGas) ?? 1n,
  gasCeiling: Result.getOrUndefined(results.gasCeiling)
})

type Values = ReturnType<typeof valuesOf>

/** The callers of the file and of the short list, and what is wrong with them. */
const callersOf = Effect.fnUntraced(function* ({ apiKeys, callersFile, rates }: Values) {
  const listed = apiKeys === undefined ? [] : CallerFile.fromApiKeys(apiKeys, rates)
  if (callersFile === undefined) return checked("PONTAGE_API_KEYS", listed)
  const text = yield* Effect.result(Effect.tryPromise(() => read(callersFile)))
  if (Result.isFailure(text) || text.success === undefined) return unreadable
  const filed = CallerFile.fromText(text.success, rates)
  return Result.isSuccess(filed)
    ? checked("PONTAGE_CALLERS_FILE", [...filed.success, ...listed])
    : { callers: listed, mistakes: filed.failure.map((mistake) => `PONTAGE_CALLERS_FILE: ${mistake}`) }
})

const checked = (variable: string, callers: ReadonlyArray<CallerTerms>) => ({
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

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** What each variable alone does not show. */
const contradictions = (values: Values, callers: ReadonlyArray<CallerTerms>): Array<string> => {
  const { anonymous, host, signerKeys, webhooksToPrivate } = values
  const mistakes = evmContradictions(values)
  if (signerKeys.length === 0) {
    mistakes.push("PONTAGE_EVM_SIGNER_KEY: no signer; set it to the private key of the account that pays for gas")
  }
  if (!loopback.test(host) && callers.length === 0 && !anonymous) {
    mistakes.push(
      "HOST: other machines could settle at your signer's cost; set PONTAGE_API_KEYS or PONTAGE_CALLERS_FILE, or PONTAGE_ALLOW_ANONYMOUS=true where only your own can reach it"
    )
  }
  if (anonymous && callers.length > 0) {
    mistakes.push(
      "PONTAGE_ALLOW_ANONYMOUS: there are callers with keys, so none is let in without; take one or the other"
    )
  }
  if (!webhooksToPrivate) mistakes.push(...privateWebhooks(callers))
  return mistakes
}

const evmContradictions = ({ evm, evmTerms, network, rpcUrl }: Values): Array<string> => {
  const mistakes = EvmTerms.withoutSettler(evmTerms).map(
    (name) => `${name}: payments travel one by one without PONTAGE_EVM_BATCH_SETTLER; set that too`
  )
  if (evm === undefined && rpcUrl === undefined) {
    mistakes.push("PONTAGE_EVM_RPC_URL: no chain to settle on; set it to the http or https address of an EVM node")
  }
  const alone = Object.entries({ PONTAGE_EVM_RPC_URL: rpcUrl, PONTAGE_EVM_NETWORK: network, ...evmTerms })
  const also = alone.flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (evm !== undefined && also.length > 0) {
    mistakes.push(`PONTAGE_EVM: also ${also.join(", ")} is set; say it in the entry of the network`)
  }
  return mistakes
}

const privateWebhooks = (callers: ReadonlyArray<CallerTerms>): ReadonlyArray<string> =>
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
    .filter((name) => name.startsWith("PONTAGE_") && !Object.hasOwn(environmentVariables, name))
    .map((name) => `${name}: no such setting; there are ${Object.keys(environmentVariables).join(", ")}`)

const settingsOf = (values: Values, callers: ReadonlyArray<CallerTerms>): FacilitatorSettings => {
  const { assets, evm, network, rpcUrl, signerKeys, store } = values
  const networks =
    evm ?? (rpcUrl === undefined ? [] : [{ rpcUrl, network, ...EvmTerms.fromVariables(values.evmTerms) }])
  return {
    host: values.host,
    port: values.port,
    callers,
    anonymousRates: values.rates,
    store: store === undefined ? StoreSettings.standard : StoreSettings.fromText(store),
    webhooksToPrivate: values.webhooksToPrivate,
    settleTimeoutMillis: values.settleTimeoutMillis,
    evm: networks.map(({ network, rpcUrl, ...terms }) => ({ network, rpcUrl: Redacted.make(rpcUrl), terms })),
    evmSignerKeys: signerKeys.map((key) => Redacted.make(key)),
    evmAssets: assets,
    evmMinimumGas: values.minimumGas,
    evmGasCeiling: values.gasCeiling
  }
}
