/**
 * The service as a process is set up: settings in, a facilitator over its chains behind HTTP out.
 */
import { type ChainUnavailable, type FacilitatorScheme, LocalFacilitator, Misconfigured } from "@pontage/core"
import { EvmCrypto, type EvmTransactionSigner, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import * as FacilitatorMetrics from "./FacilitatorMetrics.ts"
import * as FacilitatorServer from "./FacilitatorServer.ts"
import type { EvmNetworkSettings, FacilitatorSettings } from "./FacilitatorSettings.ts"
import * as FacilitatorStorage from "./FacilitatorStorage.ts"

/**
 * Runs the service as long as the scope: connects to the chains, listens, and says where.
 *
 * @category constructors
 */
export const start = Effect.fnUntraced(function* (settings: FacilitatorSettings) {
  const { anonymousRates, callers, host, port, settleTimeoutMillis, webhooksToPrivate } = settings
  const crypto = yield* BestCrypto.make
  const schemes = yield* schemesOf(settings, crypto)
  const gasCeilings = ceilingsOf(settings)
  const local = LocalFacilitator.layer({ schemes, settleTimeoutMillis, gasCeilings, ...drainOf(settings) }).pipe(
    Layer.provideMerge(FacilitatorStorage.layer(settings.store)),
    Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto))
  )
  const facilitator = yield* Layer.build(local)
  const running = yield* Effect.provide(
    FacilitatorServer.serve({
      anonymousRates,
      callers,
      host,
      port,
      minimumGas: settings.evmMinimumGas,
      webhooksToPrivate
    }),
    facilitator
  )
  yield* Effect.logInfo(`the facilitator listens on ${running.url}; its API is shown at ${running.url}/docs`)
  return running
})

/** What is under way at the end is waited for where nobody else and no later start could go on with it. */
const drainOf = ({ store }: FacilitatorSettings) => (store.kind === "memory" ? { drainMillis: 25_000 } : {})

const ceilingsOf = ({ callers, evmGasCeiling }: FacilitatorSettings) => {
  const byName = new Map(callers.map(({ gasCeilings, name }) => [name, gasCeilings]))
  return {
    total: (network: string) => (network.startsWith("eip155:") ? evmGasCeiling : undefined),
    caller: (name: string, network: string) => byName.get(name)?.get(network)
  }
}

/** A node that is started together with the service may be late; one that refuses is a mistake and ends the start. */
const patience = Schedule.max([Schedule.spaced("2 seconds"), Schedule.recurs(15)])

const schemesOf = Effect.fnUntraced(function* (settings: FacilitatorSettings, crypto: EvmCrypto.Shape) {
  const signers = yield* Effect.forEach(settings.evmSignerKeys, (key) => signerOf(key, crypto))
  return settings.evm.map((network) => evmScheme(settings, network, signers))
})

const evmScheme = (
  { evmAssets: assets }: FacilitatorSettings,
  { network, rpcUrl, terms }: EvmNetworkSettings,
  signer: ReadonlyArray<EvmTransactionSigner>
): FacilitatorScheme =>
  Effect.suspend(() => {
    let label = network ?? "eip155"
    const half = exactEvm.facilitator({
      signer,
      ...terms,
      assets,
      rpcUrl: Redacted.value(rpcUrl),
      ...(network !== undefined && { network }),
      onRequest: (method) => FacilitatorMetrics.rpcRequest(label, method)
    })
    const named = Effect.tap(half, (alive) => Effect.sync(() => (label = alive.network)))
    return named.pipe(Effect.tapErrorTag("ChainUnavailable", late), Effect.retry({ schedule: patience, while: isLate }))
  })

const isLate = ({ _tag }: ChainUnavailable | Misconfigured) => _tag === "ChainUnavailable"

const late = ({ message }: ChainUnavailable) => Effect.logWarning(`a chain cannot be asked yet: ${message}`)

const signerOf = (key: Redacted.Redacted, crypto: EvmCrypto.Shape) =>
  Effect.try({
    try: () => exactEvm.localSigner(key, crypto),
    catch: () => new Misconfigured({ message: "PONTAGE_EVM_SIGNER_KEY: one of the keys is no private key" })
  })
