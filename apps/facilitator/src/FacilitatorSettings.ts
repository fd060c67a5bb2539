/**
 * The service's settings, read from the environment at start. A mistake names the variable, shows an example and says what
 * to do; it never shows the value, which may be a secret. All mistakes are told at once, and a variable that is misspelt is
 * one: it might have been the one that locks the door.
 */
import { Misconfigured } from "@pontage/core"
import type { EvmAsset } from "@pontage/evm"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

import type { CallerKey } from "./CallerKeys.ts"
import { environmentVariables } from "./EnvironmentVariables.ts"

/**
 * An EVM network to settle on. The address may hold a provider's key, hence it is redacted too.
 *
 * @category models
 */
export interface EvmNetworkSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly network: string | undefined
}

/**
 * All settings.
 *
 * @category models
 */
export interface FacilitatorSettings {
  readonly host: string
  readonly port: number
  readonly apiKeys: ReadonlyArray<CallerKey>
  readonly settleTimeoutMillis: number
  readonly evm: ReadonlyArray<EvmNetworkSettings>
  readonly evmSignerKeys: ReadonlyArray<Redacted.Redacted>
  readonly evmAssets: ReadonlyArray<EvmAsset.CustomAsset>
  readonly evmMinimumGas: bigint
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
  if (mistakes.length === 0) mistakes.push(...contradictions(values))
  if (mistakes.length > 0) return yield* new Misconfigured({ message: mistakes.join("\n") })
  return settingsOf(values)
})

const readAll = Effect.suspend(() =>
  Effect.all(
    {
      host: environmentVariables.HOST(),
      port: environmentVariables.PORT(),
      apiKeys: environmentVariables.PONTAGE_API_KEYS(),
      anonymous: environmentVariables.PONTAGE_ALLOW_ANONYMOUS(),
      settleTimeoutMillis: environmentVariables.PONTAGE_SETTLE_TIMEOUT_MS(),
      rpcUrl: environmentVariables.PONTAGE_EVM_RPC_URL(),
      network: environmentVariables.PONTAGE_EVM_NETWORK(),
      evm: environmentVariables.PONTAGE_EVM(),
      signerKeys: environmentVariables.PONTAGE_EVM_SIGNER_KEY(),
      assets: environmentVariables.PONTAGE_EVM_ASSETS(),
      minimumGas: environmentVariables.PONTAGE_EVM_MIN_GAS_WEI()
    },
    { mode: "result" }
  )
)

type Results = Effect.Success<typeof readAll>

const valuesOf = (results: Results) => ({
  host: Result.getOrUndefined(results.host) ?? "127.0.0.1",
  port: Result.getOrUndefined(results.port) ?? 4021,
  apiKeys: Result.getOrUndefined(results.apiKeys) ?? [],
  anonymous: Result.getOrUndefined(results.anonymous) === "true",
  settleTimeoutMillis: Result.getOrUndefined(results.settleTimeoutMillis) ?? 25_000,
  rpcUrl: Result.getOrUndefined(results.rpcUrl),
  network: Result.getOrUndefined(results.network),
  evm: Result.getOrUndefined(results.evm),
  signerKeys: Result.getOrUndefined(results.signerKeys)?.split(",") ?? [],
  assets: Result.getOrUndefined(results.assets) ?? [],
  minimumGas: Result.getOrUndefined(results.minimumGas) ?? 1n
})

type Values = ReturnType<typeof valuesOf>

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** What each variable alone does not show. */
const contradictions = ({ anonymous, apiKeys, evm, host, network, rpcUrl, signerKeys }: Values): Array<string> => {
  const mistakes: Array<string> = []
  if (evm === undefined && rpcUrl === undefined) {
    mistakes.push("PONTAGE_EVM_RPC_URL: no chain to settle on; set it to the http or https address of an EVM node")
  }
  if (evm !== undefined && (rpcUrl !== undefined || network !== undefined)) {
    mistakes.push("PONTAGE_EVM: also PONTAGE_EVM_RPC_URL or PONTAGE_EVM_NETWORK is set; keep one way or the other")
  }
  if (signerKeys.length === 0) {
    mistakes.push("PONTAGE_EVM_SIGNER_KEY: no signer; set it to the private key of the account that pays for gas")
  }
  if (!loopback.test(host) && apiKeys.length === 0 && !anonymous) {
    mistakes.push(
      "HOST: other machines could settle at your signer's cost; set PONTAGE_API_KEYS, or PONTAGE_ALLOW_ANONYMOUS=true where only your own can reach it"
    )
  }
  return mistakes
}

const misspelt = (environment: Environment): Array<string> =>
  Object.keys(environment)
    .filter((name) => name.startsWith("PONTAGE_") && !Object.hasOwn(environmentVariables, name))
    .map((name) => `${name}: no such setting; there are ${Object.keys(environmentVariables).join(", ")}`)

const settingsOf = (values: Values): FacilitatorSettings => {
  const { apiKeys, assets, evm, host, minimumGas, network, port, rpcUrl, settleTimeoutMillis, signerKeys } = values
  const networks = evm ?? (rpcUrl === undefined ? [] : [{ rpcUrl, network }])
  return {
    host,
    port,
    settleTimeoutMillis,
    apiKeys: apiKeys.map((entry) =>
      typeof entry === "string"
        ? { key: Redacted.make(entry) }
        : { key: Redacted.make(entry.key), payees: entry.payees }
    ),
    evm: networks.map((one) => ({ rpcUrl: Redacted.make(one.rpcUrl), network: one.network })),
    evmSignerKeys: signerKeys.map((key) => Redacted.make(key)),
    evmAssets: assets,
    evmMinimumGas: minimumGas
  }
}
