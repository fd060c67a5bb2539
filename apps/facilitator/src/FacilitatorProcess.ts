/**
 * The service of a process: from settings to a facilitator with its chains behind HTTP.
 */
import {
  FacilitatorSchemeRegistry,
  IntakeGate,
  LocalFacilitator,
  Network,
  OptionCheck,
  RecordRetention,
  type SchemeFacilitator
} from "@pontage/core"
import { EvmCrypto } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"

import * as FacilitatorServer from "./api/FacilitatorServer.ts"
import * as CallerTerms from "./callers/CallerTerms.ts"
import * as Telemetry from "./logs/Telemetry.ts"
import * as FacilitatorSettings from "./settings/FacilitatorSettings.ts"
import type { Connections } from "./settling/ChainConnections.ts"
import * as FacilitatorStorage from "./settling/FacilitatorStorage.ts"
import * as MissingChains from "./settling/MissingChains.ts"
import * as SettlingSchemes from "./settling/SettlingSchemes.ts"

/**
 * Connects to the chains, listens, and logs the address. Runs until the scope closes. Chains that do not respond are taken in
 * when they do: then all open requests get their responses, and the service begins again on the same port with the same records.
 * Two services of one process count and export their metrics apart.
 */
export const start = (given: FacilitatorSettings.FacilitatorSettings) =>
  Effect.gen(function* () {
    const settings = yield* Effect.fromResult(OptionCheck.read(FacilitatorSettings.check, given, "settings"))
    const telemetry = yield* Layer.build(Telemetry.layer(settings.telemetry))
    return yield* Effect.provide(run(settings), telemetry)
  }).pipe((service) => Effect.suspend(() => Effect.provideService(service, Metric.MetricRegistry, new Map())))

const run = Effect.fnUntraced(function* (settings: FacilitatorSettings.FacilitatorSettings) {
  const crypto = yield* BestCrypto.make
  const chains = yield* SettlingSchemes.make(settings, crypto)
  const storage = yield* Layer.build(storageOf(settings))
  const serving = MissingChains.serve(chains, (connections, first?: FacilitatorServer.Running) =>
    Effect.provide(serveOnce({ ...settings, port: first?.port ?? settings.port }, connections, crypto), storage)
  )
  return yield* Effect.provideService(serving, EvmCrypto.EvmCrypto, crypto)
})

/** The records, and the ledger of payment channels where the service's key authorizes their claims. */
const storageOf = ({ evmChannels, store }: FacilitatorSettings.FacilitatorSettings) =>
  evmChannels?.authorizer === undefined
    ? FacilitatorStorage.layer(store)
    : Layer.merge(FacilitatorStorage.layer(store), FacilitatorStorage.ledger(store))

const serveOnce = Effect.fnUntraced(function* (
  settings: FacilitatorSettings.FacilitatorSettings,
  { claims, missing, schemes }: Connections,
  crypto: EvmCrypto.Shape
) {
  const { allowedHosts, anonymousRates, callers, discovery, host, maximumConnections, port, webhooksToPrivate } =
    settings
  const { requestTimeoutMillis, settleTimeoutMillis } = settings
  for (const { network, node, problem } of missing) {
    yield* Effect.logWarning(
      `${network} is not ready: its node ${node} ${problem}; it is taken in as soon as it responds as it has to`
    )
  }
  const gasCeilings = ceilingsOf(settings)
  const intake = IntakeGate.make()
  const local = LocalFacilitator.layer({
    settleTimeoutMillis,
    gasCeilings,
    intake,
    channels: (network) => claims.get(network) ?? {},
    ...drainOf(settings)
  }).pipe(Layer.provideMerge(registryOf(schemes)), Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto)))
  const facilitator = yield* Layer.build(Layer.provideMerge(retentionOf(settings), local))
  const running = yield* Effect.provide(
    FacilitatorServer.serve({
      allowedHosts,
      anonymousRates,
      ...(callers.length > 0 && { callers }),
      ...(discovery && { discovery }),
      host,
      intake,
      maximumConnections,
      requestTimeoutMillis,
      port,
      minimumGas: minimumGasOf(settings),
      missing: missing.map(({ network, node, problem, scheme }) => ({ network, node, problem, scheme })),
      webhooksToPrivate
    }),
    facilitator
  )
  yield* Effect.logInfo(`the facilitator listens on ${running.url}; its API is documented at ${running.url}/docs`)
  return running
})

/** An empty registry is no mistake here: then no chain responds yet. */
const registryOf = (schemes: ReadonlyArray<SchemeFacilitator>) =>
  Layer.effect(
    FacilitatorSchemeRegistry.FacilitatorSchemeRegistry,
    schemes.length === 0
      ? Effect.succeed({ schemes: [], find: () => undefined, findOpen: () => undefined })
      : Effect.fromResult(FacilitatorSchemeRegistry.make(schemes))
  )

const retentionOf = ({ retentionHours }: FacilitatorSettings.FacilitatorSettings) =>
  retentionHours === undefined ? Layer.empty : RecordRetention.layer({ age: Duration.hours(retentionHours) })

/** With a memory store the process waits for pending payments before it ends, since no other process could continue them. */
const drainOf = ({ store }: FacilitatorSettings.FacilitatorSettings) =>
  store.kind === "memory" ? { drainMillis: 25_000 } : {}

const ceilingsOf = (settings: FacilitatorSettings.FacilitatorSettings) => {
  const byName = new Map(settings.callers.map(({ gasCeilings, name }) => [name, gasCeilings]))
  return {
    total: byFamily({
      eip155: settings.evmGasCeiling,
      ton: settings.ton?.gasCeiling,
      tron: settings.tron?.gasCeiling
    }),
    caller: (name: string, network: string) => byName.get(name)?.get(network),
    callers: (network: string) => CallerTerms.sharers(settings.callers, network)
  }
}

const minimumGasOf = ({ evmMinimumGas, ton, tron }: FacilitatorSettings.FacilitatorSettings) =>
  byFamily({ eip155: evmMinimumGas, ton: ton?.minimumGas ?? 1n, tron: tron?.minimumGas ?? 1n })

/** A value for each network by its family. */
const byFamily =
  <A>(each: { readonly eip155: A; readonly ton: A; readonly tron: A }) =>
  (network: string): A => {
    switch (Network.namespace(network)) {
      case "ton":
        return each.ton
      case "tron":
        return each.tron
      default:
        return each.eip155
    }
  }
