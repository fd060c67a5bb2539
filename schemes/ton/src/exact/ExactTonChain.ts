/**
 * The context that the parts of the scheme facilitator share: a node that serves the network, the relayers, the Jettons, and
 * the records of payers.
 */
import { type Asset, type AssetTable, ChainUnavailable, type LossBudget, Misconfigured } from "@pontage/core"
import type { Network } from "@pontage/core/Network"
import * as OptionCheck from "@pontage/core/OptionCheck"
import type { Cell } from "@ton/core"
import * as Effect from "effect/Effect"

import * as Ed25519 from "../crypto/Ed25519.ts"
import * as TonExpenses from "../evidence/TonExpenses.ts"
import * as TonInclusion from "../evidence/TonInclusion.ts"
import * as TonObservation from "../evidence/TonObservation.ts"
import * as TonSearches from "../evidence/TonSearches.ts"
import * as TonChainCheck from "../node/TonChainCheck.ts"
import * as TonRpc from "../node/TonRpc.ts"
import * as ExactTon from "../payment/ExactTon.ts"
import { handedOn } from "../payment/SettlementPayload.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as CurrentTariff from "../sending/CurrentTariff.ts"
import * as PendingPayers from "../sending/PendingPayers.ts"
import * as TonLosses from "../sending/TonLosses.ts"
import * as TonRelayer from "../sending/TonRelayer.ts"
import type * as TonTariff from "../sending/TonTariff.ts"
import * as TonAsset from "../transfer/TonAsset.ts"
import type { TonEmulation } from "../transfer/TonEmulation.ts"
import * as TonJettons from "../transfer/TonJettons.ts"
import * as TonSigner from "../wallet/TonSigner.ts"
import * as TonWallet from "../wallet/TonWallet.ts"

/** Options of `exactTon.facilitator`. */
export interface Options {
  /** The key of the relayer, which pays all fees, or several keys to share the load. Their W5 wallets must be deployed. */
  readonly signer: TonSigner.TonKeySigner | ReadonlyArray<TonSigner.TonKeySigner>
  /** The number of the relayers' wallets among those of their keys; default 0. */
  readonly subwallet?: number
  /** toncenter's API v2, its JSON-RPC address. */
  readonly rpcUrl: string
  readonly apiKey?: string
  /** Default `ton:mainnet`. */
  readonly network?: string
  /** Jettons to settle beyond the known ones; no other is ever settled. */
  readonly assets?: ReadonlyArray<TonAsset.CustomAsset>
  /** How payments may be signed; default both. */
  readonly kinds?: ReadonlyArray<ExactTon.Kind>
  /**
   * TON attached to a payment, in nanotons; unused TON comes back. Default the need of a transfer at the chain's prices
   * (0.03 TON in 2025), and at least 0.05 TON for Jettons that this package does not know.
   */
  readonly attachedTon?: bigint
  /**
   * The most of the attached TON that a payer's request may hand on, in nanotons; default the amount attached at start, and at
   * least the 0.03 TON of x402's clients.
   */
  readonly maxInnerTon?: bigint
  /** The smallest payment by an external message, in the Jetton's smallest unit; default a hundredth of a whole Jetton. */
  readonly externalMinimum?: bigint
  /** Other accounts of the operator that may receive the unused TON; the relayers always may. */
  readonly responseDestinations?: ReadonlyArray<string>
  /** Size of a batch, and the milliseconds until it is sent; default 50 payments after 250 milliseconds. */
  readonly batches?: { readonly maximum?: number; readonly windowMillis?: number }
  /** Whether wallets with extensions may pay: an extension can move the money between check and transfer. Default false. */
  readonly extendedPayers?: boolean
  /** Emulates a transfer before anything is spent on it: that of `@pontage/ton/emulation`. Default none. */
  readonly emulation?: TonEmulation
  /**
   * The most that may be lost to failed payments in 24 hours, in nanotons, the TON attached to pending payments included;
   * default 2 TON. Above it only payers with a payment settled in that time are served.
   */
  readonly lossBudget?: bigint
  /** The same for the payers of one caller; default its share by `callers`, else a half of `lossBudget`. */
  readonly lossBudgetPerCaller?: bigint
  /** The names of the callers who share `lossBudget`: half of it is held for them in equal parts (`CallerShares`). */
  readonly callers?: ReadonlyArray<string>
  /** The same for one payer; default an eighth of `lossBudget`. */
  readonly lossBudgetPerPayer?: bigint
  /** Ban of an account that is to blame for a loss, in milliseconds; default an hour. */
  readonly banMillis?: number
  /** Called with the cost of each payment. */
  readonly onExpense?: (expense: TonExpenses.TonExpense) => void
  /** Timeout of a request to the RPC, in milliseconds; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the method of each request to the RPC, for counting. */
  readonly onRequest?: (method: string) => void
}

const signer = OptionCheck.given<TonSigner.TonKeySigner>(
  "a signer: exactTon.localSigner(seed), a key pair, or { publicKey, sign }",
  TonSigner.isKeySigner
)

const check = OptionCheck.options<Options>({
  signer: OptionCheck.either(signer, OptionCheck.list(signer)),
  subwallet: OptionCheck.optional(OptionCheck.whole()),
  rpcUrl: OptionCheck.nodeUrl("https://toncenter.com/api/v2/jsonRPC"),
  apiKey: OptionCheck.optional(OptionCheck.text),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TonAsset.check),
  kinds: OptionCheck.optional(OptionCheck.list(OptionCheck.oneOf(...ExactTon.kinds))),
  attachedTon: OptionCheck.optional(OptionCheck.amount(1n)),
  maxInnerTon: OptionCheck.optional(OptionCheck.amount()),
  responseDestinations: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  batches: OptionCheck.optional(
    OptionCheck.options<NonNullable<Options["batches"]>>({
      maximum: OptionCheck.optional(OptionCheck.whole()),
      windowMillis: OptionCheck.optional(OptionCheck.whole())
    })
  ),
  extendedPayers: OptionCheck.optional(OptionCheck.flag),
  emulation: OptionCheck.optional(OptionCheck.callable()),
  externalMinimum: OptionCheck.optional(OptionCheck.amount()),
  lossBudget: OptionCheck.optional(OptionCheck.amount(1n)),
  lossBudgetPerCaller: OptionCheck.optional(OptionCheck.amount(1n)),
  callers: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  lossBudgetPerPayer: OptionCheck.optional(OptionCheck.amount(1n)),
  banMillis: OptionCheck.optional(OptionCheck.whole()),
  onExpense: OptionCheck.optional(OptionCheck.callable()),
  rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})

/** The shared context. */
export interface ExactTonChain {
  readonly rpc: TonRpc.TonRpc
  readonly network: Network
  readonly assets: AssetTable.AssetTable
  readonly jettons: TonJettons.TonJettons
  readonly relayers: ReadonlyMap<string, TonRelayer.TonRelayer>
  /** Accounts that the unused TON may go to: offers name the first one. */
  readonly responseDestinations: ReadonlyArray<TonAddress.Address>
  readonly kinds: ReadonlyArray<ExactTon.Kind>
  readonly maxInnerTon: bigint
  readonly externalMinimum: bigint | undefined
  readonly batches: { readonly maximum: number; readonly windowMillis: number }
  readonly extendedPayers: boolean
  readonly emulation: TonEmulation | undefined
  /** The chain's configuration, at most ten minutes old. */
  readonly config: Effect.Effect<Cell, ChainUnavailable>
  /** Cost of relaying at the prices of that configuration. */
  readonly tariff: Effect.Effect<TonTariff.TonTariff, ChainUnavailable>
  readonly ed25519: Ed25519.Shape
  readonly pendingPayers: PendingPayers.PendingPayers
  readonly searches: TonSearches.TonSearches
  readonly inclusions: TonInclusion.TonInclusions
  readonly looks: TonObservation.Looks
  readonly losses: TonLosses.TonLosses
  readonly expenses: TonExpenses.TonExpenses
  /** Proves a Jetton against the chain before it is first used. */
  readonly prove: (token: Asset) => Effect.Effect<void, ChainUnavailable>
}

const defaultLossBudget = 2_000_000_000n
/** The shares of a caller and of a payer in the loss budget. */
const callersPart = 2n
const payersPart = 8n
const defaultMaximum = 50
const defaultWindowMillis = 250
/** The most messages that a wallet sends at once. */
const maximumActions = 255

/**
 * Connects. It succeeds when the RPC serves the network and the relayers are deployed W5 wallets.
 */
export const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ExactTonChain, Misconfigured | ChainUnavailable> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "exactTon.facilitator"))
  const { batches: { maximum = defaultMaximum, windowMillis = defaultWindowMillis } = {} } = options
  yield* inRange("batches.maximum", maximum, 1, maximumActions)
  yield* inRange("batches.windowMillis", windowMillis, 0, 60_000)
  const assets = yield* Effect.fromResult(TonAsset.table(options.assets ?? []))
  const rpc = yield* connected(options)
  const network = TonNetwork.fromText(rpc.network)
  if (network === undefined) return yield* wrong(`network "${rpc.network}" is not a TON network`)
  const relayers = yield* deployed(rpc, network, options)
  const losses = yield* TonLosses.make(limitsOf(options))
  const config = CurrentTariff.refreshed(rpc.config)
  const tariff = CurrentTariff.make(network, config, options.attachedTon)
  const { maxInnerTon = larger(yield* largestNeed(tariff, network, assets, options), handedOn) } = options
  return {
    rpc,
    network,
    assets,
    relayers,
    jettons: TonJettons.make(rpc),
    responseDestinations: [...relayers.values()].map(({ address }) => address).concat(yield* own(options)),
    kinds: options.kinds ?? ["w5-internal", "external"],
    maxInnerTon,
    externalMinimum: options.externalMinimum,
    batches: { maximum, windowMillis },
    extendedPayers: options.extendedPayers ?? false,
    emulation: options.emulation,
    config,
    tariff,
    ed25519: yield* Ed25519.Ed25519,
    pendingPayers: PendingPayers.make(),
    searches: TonSearches.make(rpc),
    inclusions: TonInclusion.make(rpc),
    looks: TonObservation.makeLooks(),
    losses,
    expenses: TonExpenses.make(losses, options.onExpense ?? (() => undefined)),
    prove: provingOnce(rpc)
  }
})

const limitsOf = ({ banMillis, ...options }: Options): LossBudget.Limits => {
  const { lossBudget: total = defaultLossBudget } = options
  const { callers, lossBudgetPerCaller: perCaller = callers ? undefined : part(total, callersPart) } = options
  const { lossBudgetPerPayer: perPayer = part(total, payersPart) } = options
  return {
    total,
    perPayer,
    ...(perCaller !== undefined && { perCaller }),
    ...(callers && { callers }),
    ...(banMillis !== undefined && { banMillis })
  }
}

const larger = (left: bigint, right: bigint): bigint => (left > right ? left : right)

const part = (whole: bigint, parts: bigint): bigint => (whole < parts ? 1n : whole / parts)

/** The largest need of a transfer among the tokens, in nanotons: today's offers name it. */
const largestNeed = (
  tariff: ExactTonChain["tariff"],
  network: Network,
  { of }: AssetTable.AssetTable,
  { attachedTon }: Options
): Effect.Effect<bigint, ChainUnavailable> =>
  Effect.map(tariff, ({ transfer }) =>
    of(network).reduce((most, token) => larger(transfer(token), most), attachedTon ?? 1n)
  )

const connected = Effect.fnUntraced(function* (options: Options) {
  const { apiKey, network: text = TonNetwork.mainnet, onRequest, rpcTimeoutMillis, rpcUrl } = options
  const network = TonNetwork.fromText(text)
  if (network === undefined) return yield* wrong(`network "${text}" is not a TON network`)
  const rpc = yield* TonRpc.make({
    url: rpcUrl,
    network,
    ...(apiKey !== undefined && { apiKey }),
    ...(rpcTimeoutMillis !== undefined && { timeout: rpcTimeoutMillis }),
    ...(onRequest && { onRequest })
  })
  yield* TonChainCheck.network(rpc, network)
  return rpc
})

const deployed = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  network: Network,
  { signer, subwallet = 0 }: Options
) {
  const relayers = new Map<string, TonRelayer.TonRelayer>()
  for (const given of Array.isArray(signer) ? signer : [signer]) {
    const relayer = TonRelayer.make(given, network, subwallet)
    if (relayer === undefined) return yield* wrong("a signer's keys are not 32 bytes of Ed25519 that belong together")
    const { code, data } = yield* rpc.account(relayer.address)
    if (code === undefined || data === undefined || TonWallet.read(code, data)?.version !== "w5")
      return yield* wrong(`the relayer ${relayer.address} is not a deployed W5 wallet on ${network}; deploy it first`)
    relayers.set(relayer.address, relayer)
  }
  return relayers.size === 0 ? yield* wrong("give at least one signer") : relayers
})

const own = ({ responseDestinations = [] }: Options): Effect.Effect<ReadonlyArray<TonAddress.Address>, Misconfigured> =>
  Effect.forEach(responseDestinations, (text) => {
    const address = TonAddress.fromText(text)
    return address === undefined ? wrong(`responseDestinations: "${text}" is not an address`) : Effect.succeed(address)
  })

const provingOnce = (rpc: TonRpc.TonRpc) => {
  const proven = new Set<Asset>()
  return (token: Asset): Effect.Effect<void, ChainUnavailable> =>
    proven.has(token)
      ? Effect.void
      : TonChainCheck.asset(rpc, token).pipe(
          Effect.andThen(Effect.sync(() => void proven.add(token))),
          Effect.catchTag("Misconfigured", (error) => notSettleable(rpc.network, error))
        )
}

/** Logs a token that is not what the operator's table says: it is the operator's mistake, and says nothing about the payment. */
const notSettleable = (network: string, { message }: Misconfigured) =>
  Effect.andThen(Effect.logError(message), Effect.fail(new ChainUnavailable({ network, message })))

const inRange = (name: string, value: number, least: number, most: number) =>
  Number.isSafeInteger(value) && value >= least && value <= most
    ? Effect.void
    : wrong(`${name} ${value} is not an integer between ${least} and ${most}`)

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactTon.facilitator: ${what}` }))
