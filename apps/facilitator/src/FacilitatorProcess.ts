/**
 * The service of a process: from settings to a facilitator with its chains behind HTTP.
 */
import {
  FacilitatorSchemeRegistry,
  IntakeGate,
  LocalFacilitator,
  Network,
  OptionCheck,
  RecordRetention
} from "@pontage/core"
import { EvmCrypto } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as FacilitatorServer from "./api/FacilitatorServer.ts"
import * as CallerTerms from "./callers/CallerTerms.ts"
import * as FacilitatorSettings from "./settings/FacilitatorSettings.ts"
import * as FacilitatorStorage from "./settling/FacilitatorStorage.ts"
import * as SettlingSchemes from "./settling/SettlingSchemes.ts"

/** Connects to the chains, listens, and logs the address. Runs until the scope closes. */
export const start = Effect.fnUntraced(function* (settings: FacilitatorSettings.FacilitatorSettings) {
  yield* Effect.fromResult(OptionCheck.read(FacilitatorSettings.check, settings, "settings"))
  const { allowedHosts, anonymousRates, callers, host, maximumConnections, port, webhooksToPrivate } = settings
  const { requestTimeoutMillis, settleTimeoutMillis } = settings
  const crypto = yield* BestCrypto.make
  const schemes = yield* SettlingSchemes.make(settings, crypto)
  const gasCeilings = ceilingsOf(settings)
  const intake = IntakeGate.make()
  const local = LocalFacilitator.layer({
    settleTimeoutMillis,
    gasCeilings,
    intake,
    ...drainOf(settings)
  }).pipe(
    Layer.provideMerge(FacilitatorSchemeRegistry.layer(schemes)),
    Layer.provideMerge(FacilitatorStorage.layer(settings.store)),
    Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto))
  )
  const facilitator = yield* Layer.build(Layer.provideMerge(retentionOf(settings), local))
  const running = yield* Effect.provide(
    FacilitatorServer.serve({
      allowedHosts,
      anonymousRates,
      ...(callers.length > 0 && { callers }),
      host,
      intake,
      maximumConnections,
      requestTimeoutMillis,
      port,
      minimumGas: minimumGasOf(settings),
      webhooksToPrivate
    }),
    facilitator
  )
  yield* Effect.logInfo(`the facilitator listens on ${running.url}; its API is documented at ${running.url}/docs`)
  return running
})

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
