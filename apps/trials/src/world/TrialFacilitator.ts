/**
 * The facilitator under trial, as a process: the service put together as the product does it, with the store, the failpoint
 * and the mutation that the trial wants. Its environment configures it: `TRIAL_SETTINGS`, `FAILPOINT`, `MUTATION`.
 */
import { flushCompileCache } from "node:module"

import {
  Checkpoint,
  type FacilitatorScheme,
  FacilitatorSchemeRegistry,
  LocalFacilitator,
  RecordRetention
} from "@pontage/core"
import { bridgeEvm, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { ApiKey, type CallerTerms, serve } from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import "effect/schema/SchemaJITCompiler/enable"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { privateKeyToAccount } from "viem/accounts"

import type { Mutation } from "../Mutation.ts"
import * as FirstPush from "../routes/FirstPush.ts"
import * as TrialProcess from "./TrialProcess.ts"
import { fromText, type TrialSettings } from "./TrialSettings.ts"
import * as TrialStore from "./TrialStore.ts"

/** The strikes at checkpoints: at all of them, or at those behind the first push. */
const strikesOf = (settings: TrialSettings): Checkpoint.Strike => {
  const strike = TrialProcess.strikes(settings)
  return (name) => (settings.strikesPushes === true && !FirstPush.isOnRecord() ? Effect.void : strike(name))
}

/** The facilitator's schemes: of payments, and of their deliveries on the second chain. */
const schemesOf = (settings: TrialSettings, { scheme: mutated = (same) => same }: Mutation) => {
  const { finalityDepth, routes, rpcTimeoutMillis } = settings
  const deliveries =
    routes &&
    bridgeEvm.deliveries({
      signer: privateKeyToAccount(routes.signerKey),
      rpcUrl: routes.rpcUrl,
      bridges: routes.bridges,
      finalityDepth,
      rpcTimeoutMillis
    })
  const others = [...(deliveries === undefined ? [] : [deliveries]), ...payoutsOf(settings)]
  return [schemeOf(settings), ...others].map((scheme) => Effect.map(TrialProcess.untilReady(scheme), mutated))
}

/** The scheme that sends the operator's payments on the second chain. */
const payoutsOf = ({ inventory, rpcTimeoutMillis }: TrialSettings): ReadonlyArray<FacilitatorScheme> => {
  if (inventory === undefined) return []
  const { asset, finalityDepth, rpcUrl, signerKey } = inventory
  const signer = privateKeyToAccount(signerKey)
  return [
    exactEvm.facilitator({ signer, rpcUrl, network: asset.network, assets: [asset], finalityDepth, rpcTimeoutMillis })
  ]
}

const inventoryOf = ({ inventory }: TrialSettings) => {
  if (inventory === undefined) return {}
  const { asset, fee, finalityDepth, operatorKey, perDay, rpcUrl } = inventory
  const to = { network: asset.network, rpcUrl, finalityDepth }
  return { inventory: { signer: privateKeyToAccount(operatorKey), pairs: [{ to, fee, perDay }] } }
}

const routesOf = ({ finalityDepth, routes }: TrialSettings) => {
  if (routes === undefined) return {}
  const { attesterUrl, bridges, coinPrice, feeTo, pushAfterSeconds, rpcUrl } = routes
  const cctp = attesterUrl === undefined ? {} : { cctp: { attesterUrl } }
  return {
    routes: { to: [{ rpcUrl, coinPrice, finalityDepth }], coinPrice, bridges, feeTo, pushAfterSeconds, ...cctp }
  }
}

const schemeOf = (settings: TrialSettings): FacilitatorScheme => {
  const { assets, batchSettler, counterfactualSettler, finalityDepth, maxFeePerGas, operationSettler, permitSettler } =
    settings
  const { inventory, rpcTimeoutMillis, rpcUrl, signerKeys } = settings
  return exactEvm.facilitator({
    signer: signerKeys.map((key) => privateKeyToAccount(key)),
    rpcUrl,
    assets: inventory === undefined ? assets : [...assets, inventory.asset],
    finalityDepth,
    rpcTimeoutMillis,
    ...(maxFeePerGas !== undefined && { maxFeePerGas }),
    ...((batchSettler ?? operationSettler ?? permitSettler) !== undefined && {
      batches: {
        ...(batchSettler && { settler: batchSettler }),
        ...(operationSettler && { operationSettler }),
        ...(permitSettler && { permitSettler })
      }
    }),
    ...(counterfactualSettler !== undefined && { counterfactualSettler }),
    ...(operationSettler !== undefined && { userOperations: {} }),
    ...(permitSettler !== undefined && { permit2: true }),
    ...routesOf(settings),
    ...inventoryOf(settings)
  })
}

const callersOf = ({ callers = [] }: TrialSettings, network: string): ReadonlyArray<CallerTerms> =>
  callers.map((one) => callerOf(one, network))

const callerOf = (
  { gasCeiling, key, name, operator = false, webhook }: NonNullable<TrialSettings["callers"]>[number],
  network: string
): CallerTerms => ({
  name,
  operator,
  ...(webhook !== undefined && {
    webhook: { url: Redacted.make(webhook), secret: Redacted.make("the-secret-of-the-trial") }
  }),
  keys: [ApiKey.digestOf(key)],
  gasCeilings: new Map(gasCeiling === undefined ? [] : [[network, gasCeiling]])
})

/** The default holds an attack back, and a long trial with it. */
const unlimited = 10n ** 24n

/** The engine's ceilings: the total, and each caller's own. */
const ceilingsOf = ({ callers = [], gasCeiling }: TrialSettings, { ignoresCeilings }: Mutation) =>
  ignoresCeilings
    ? {}
    : {
        total: () => gasCeiling ?? unlimited,
        caller: (name: string) => callers.find((one) => one.name === name)?.gasCeiling
      }

const program = Effect.gen(function* () {
  const settings = fromText(process.env["TRIAL_SETTINGS"] ?? "")
  const mutation = TrialProcess.mutation()
  const strike = strikesOf(settings)
  const { port, retentionMillis, settleTimeoutMillis, store } = settings
  const retention = retentionMillis === undefined ? Layer.empty : RecordRetention.layer({ age: retentionMillis })
  const local = LocalFacilitator.layer({
    settleTimeoutMillis,
    gasCeilings: ceilingsOf(settings, mutation)
  }).pipe(
    Layer.provideMerge(FacilitatorSchemeRegistry.layer(schemesOf(settings, mutation))),
    Layer.provideMerge(TrialStore.layer(store, FirstPush.noticedBy(mutation))),
    Layer.provide(BestCrypto.layer)
  )
  const served = Effect.gen(function* () {
    const facilitator = yield* Layer.build(Layer.provideMerge(retention, local))
    const callers = callersOf(settings, settings.assets[0]?.network ?? "")
    const { url } = yield* Effect.provide(
      serve({ port, webhooksToPrivate: true, ...(callers.length > 0 && { callers }) }),
      facilitator
    )
    process.send?.({ url })
    // A process that is killed keeps nothing: the next life begins quicker with what this one has compiled.
    flushCompileCache()
    return yield* Effect.never
  })
  return yield* Effect.provideService(served, Checkpoint.Checkpoint, strike)
})

// Garbage is collected first, where this process may request it; the rest is what the process needs.
process.on("message", () => {
  globalThis.gc?.()
  const { external, heapUsed, rss } = process.memoryUsage()
  process.send?.({ external, heapUsed, rss })
})

// The parent process is gone, so this one has no purpose left.
process.on("disconnect", () => process.exit(1))
await Effect.runPromise(Effect.scoped(program))
