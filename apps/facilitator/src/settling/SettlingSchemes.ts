/**
 * Scheme facilitators of the settings. Each connects once its node has proven that it serves the network
 * (`ChainConnections`).
 */
import { type FacilitatorScheme, Misconfigured } from "@pontage/core"
import { channelEvm, type EvmCrypto, type EvmTransactionSigner, exactEvm } from "@pontage/evm"
import { exactTon, TonNetwork } from "@pontage/ton"
import { exactTron, TronNetwork } from "@pontage/tron"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as CallerTerms from "../callers/CallerTerms.ts"
import * as FacilitatorMetrics from "../metrics/FacilitatorMetrics.ts"
import * as ChannelSettings from "../settings/ChannelSettings.ts"
import type { EvmNetworkSettings } from "../settings/EvmSettings.ts"
import type { FacilitatorSettings } from "../settings/FacilitatorSettings.ts"
import * as TonSettings from "../settings/TonSettings.ts"
import type { TronSettings } from "../settings/TronSettings.ts"
import type { ConfiguredChain } from "./ChainConnections.ts"
import * as EvmSigners from "./EvmSigners.ts"
import * as InstalledEmulation from "./InstalledEmulation.ts"
import * as InventorySchemes from "./InventorySchemes.ts"
import * as RouteSchemes from "./RouteSchemes.ts"

/** Scheme facilitators of all families in the settings. Fails with `Misconfigured` for an invalid key. */
export const make = Effect.fnUntraced(function* (
  settings: FacilitatorSettings,
  crypto: EvmCrypto.Shape
): Effect.fn.Return<ReadonlyArray<ConfiguredChain>, Misconfigured> {
  const { ton, tron } = settings
  const signers = yield* Effect.forEach(settings.evmSignerKeys, (key) => EvmSigners.make(signerVariable, key, crypto))
  const channels = settings.evmChannels && (yield* channelSignersOf(settings.evmChannels, crypto))
  const inventory = yield* InventorySchemes.make(settings, crypto)
  const chains: Array<ConfiguredChain> = settings.evm.flatMap((one) => {
    const place = { network: one.network ?? "eip155", node: EvmSigners.originOf(one.rpcUrl) }
    const stock = InventorySchemes.optionOf(inventory, one.network)
    const exact = { ...place, scheme: "exact", connect: evmScheme(settings, one, signers, stock) }
    return channels === undefined || one.channels === undefined
      ? [exact]
      : [exact, { ...place, ...channelChain(settings, one, one.channels, channels) }]
  })
  chains.push(...(yield* RouteSchemes.deliveries(settings, crypto)))
  if (ton !== undefined) {
    const network = TonNetwork.fromText(ton.terms.network ?? TonNetwork.mainnet) ?? "ton"
    chains.push({ scheme: "exact", network, node: EvmSigners.originOf(ton.rpcUrl), connect: tonScheme(settings, ton) })
  }
  if (tron !== undefined) {
    const network = TronNetwork.fromText(tron.terms.network ?? TronNetwork.mainnet) ?? "tron"
    chains.push({
      scheme: "exact",
      network,
      node: EvmSigners.originOf(tron.rpcUrl),
      connect: yield* tronScheme(settings, tron)
    })
  }
  return chains
})

const evmScheme = (
  { callers, evmAssets: assets, evmRoutes }: FacilitatorSettings,
  { network, routes, rpcUrl, terms }: EvmNetworkSettings,
  signer: ReadonlyArray<EvmTransactionSigner>,
  inventory: ReturnType<typeof InventorySchemes.optionOf>
): FacilitatorScheme =>
  Effect.flatMap(FacilitatorMetrics.rpcCounter, (countRequest) => {
    let label = network ?? "eip155"
    const facilitator = exactEvm.facilitator({
      signer,
      callers: CallerTerms.sharers(callers, network),
      ...terms,
      assets,
      ...(routes && evmRoutes && { routes: RouteSchemes.optionOf(routes, evmRoutes) }),
      ...(inventory && { inventory }),
      rpcUrl: Redacted.value(rpcUrl),
      ...(network !== undefined && { network }),
      onRequest: (method) => countRequest(label, method)
    })
    return Effect.tap(facilitator, ({ network }) => Effect.sync(() => (label = network)))
  })

const signerVariable = "PONTAGE_EVM_SIGNER_KEY"

/** The accounts of payment channels: those that send, and the one that authorizes. */
interface ChannelSigners {
  readonly senders: ReadonlyArray<EvmTransactionSigner>
  readonly authorizer: ReturnType<typeof exactEvm.localSigner> | undefined
}

const channelSignersOf = Effect.fnUntraced(function* (
  { authorizer, signers }: ChannelSettings.ChannelKeys,
  crypto: EvmCrypto.Shape
): Effect.fn.Return<ChannelSigners, Misconfigured> {
  return {
    senders: yield* Effect.forEach(signers, (key) => EvmSigners.make("PONTAGE_EVM_CHANNEL_SIGNER_KEY", key, crypto)),
    authorizer: authorizer && (yield* EvmSigners.make("PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY", authorizer, crypto))
  }
})

const channelChain = (
  settings: FacilitatorSettings,
  one: EvmNetworkSettings,
  terms: ChannelSettings.ChannelTerms,
  signers: ChannelSigners
) => ({
  scheme: "batch-settlement",
  connect: channelScheme(settings, one, terms, signers),
  claims: ChannelSettings.claimTermsOf(terms)
})

/** The scheme of payment channels. The limits of `exact` hold for it too, each counted apart. */
const channelScheme = (
  { callers, evmAssets: assets }: FacilitatorSettings,
  { network, rpcUrl, terms = {} }: EvmNetworkSettings,
  { minimumDeposit }: ChannelSettings.ChannelTerms,
  { authorizer, senders }: ChannelSigners
): FacilitatorScheme =>
  Effect.flatMap(FacilitatorMetrics.rpcCounter, (countRequest) => {
    let label = network ?? "eip155"
    const { banMillis, finalityDepth, lossBudget, lossBudgetPerCaller, maxFeePerGas, minimumAmounts, minimumPrice } =
      terms
    const lent = authorizer && {
      signer: authorizer,
      callers: (caller: string) => CallerTerms.hasPayees(callers, caller, label)
    }
    const facilitator = channelEvm.facilitator({
      signer: senders,
      callers: CallerTerms.sharers(callers, network),
      ...(minimumDeposit !== undefined && { minimumDeposit }),
      ...(banMillis !== undefined && { banMillis }),
      ...(finalityDepth !== undefined && { finalityDepth }),
      ...(lossBudget !== undefined && { lossBudget }),
      ...(lossBudgetPerCaller !== undefined && { lossBudgetPerCaller }),
      ...(maxFeePerGas !== undefined && { maxFeePerGas }),
      ...(minimumAmounts !== undefined && { minimumAmounts }),
      ...(minimumPrice !== undefined && { minimumPrice }),
      ...(lent && { authorizer: lent }),
      assets,
      rpcUrl: Redacted.value(rpcUrl),
      ...(network !== undefined && { network }),
      onRequest: (method) => countRequest(label, method)
    })
    return Effect.tap(facilitator, ({ network }) => Effect.sync(() => (label = network)))
  })

const tonScheme = (
  { callers }: FacilitatorSettings,
  { apiKey, emulation: mode, rpcUrl, signerKeys, terms }: TonSettings.TonSettings
): FacilitatorScheme => {
  const label = TonNetwork.fromText(terms.network ?? TonNetwork.mainnet) ?? "ton"
  return Effect.gen(function* () {
    const countRequest = yield* FacilitatorMetrics.rpcCounter
    const emulation = yield* InstalledEmulation.make(mode)
    return yield* exactTon.facilitator({
      callers: CallerTerms.sharers(callers, label),
      ...terms,
      signer: signerKeys.map(TonSettings.keyPairOf),
      rpcUrl: Redacted.value(rpcUrl),
      ...(apiKey !== undefined && { apiKey: Redacted.value(apiKey) }),
      ...(emulation !== undefined && { emulation }),
      onRequest: (method) => countRequest(label, method)
    })
  })
}

const tronScheme = Effect.fnUntraced(function* (
  { callers }: FacilitatorSettings,
  { apiKey, rpcUrl, sponsor, terms }: TronSettings
) {
  const label = TronNetwork.fromText(terms.network ?? TronNetwork.mainnet) ?? "tron"
  const signer = sponsor && (yield* tronSignerOf(sponsor.key))
  return Effect.flatMap(FacilitatorMetrics.rpcCounter, (countRequest) =>
    exactTron.facilitator({
      ...terms,
      rpcUrl: Redacted.value(rpcUrl),
      ...(apiKey !== undefined && { rpcHeaders: { [InventorySchemes.tronKeyHeader]: Redacted.value(apiKey) } }),
      ...(sponsor &&
        signer && { sponsor: { callers: CallerTerms.sharers(callers, label), ...sponsor.limits, signer } }),
      onRequest: (path) => countRequest(label, path)
    })
  )
})

const tronSignerOf = (key: Redacted.Redacted) =>
  Effect.try({
    try: () => exactTron.localSigner(key),
    catch: () => new Misconfigured({ message: "PONTAGE_TRON_SPONSOR_KEY: the key is not a valid private key" })
  })
