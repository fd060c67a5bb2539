/**
 * The state that the parts of the scheme facilitator share: a node that was proven to serve the network, the tokens, the policy,
 * and the energy sponsor if there is one.
 */
import { type Asset, type AssetTable, ChainUnavailable, Misconfigured, type PaymentRequirements } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as EndConfirmation from "../evidence/EndConfirmation.ts"
import * as FailureConfirmation from "../evidence/FailureConfirmation.ts"
import * as PerBlockLookup from "../evidence/PerBlockLookup.ts"
import type * as TronObservation from "../evidence/TronObservation.ts"
import * as TronChainCheck from "../node/TronChainCheck.ts"
import * as TronLagGuard from "../node/TronLagGuard.ts"
import * as TronRpc from "../node/TronRpc.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import * as EnergySponsor from "../sending/EnergySponsor.ts"
import * as TronCommitments from "../sending/TronCommitments.ts"
import * as TronAsset from "../transfer/TronAsset.ts"

/** Options of the facilitator. It needs no signer, because payers sign the transactions themselves; only a sponsor has one. */
export interface Options {
  /** URL of a full node, the part before `/wallet`. */
  readonly rpcUrl: string
  /** Headers of every request to the node, for a provider's key (`TRON-PRO-API-KEY`). */
  readonly rpcHeaders?: Readonly<Record<string, string>>
  /** Default `tron:mainnet`. */
  readonly network?: string
  /** Tokens to settle beside the known ones; no other token is ever settled. */
  readonly assets?: ReadonlyArray<TronAsset.CustomAsset>
  /**
   * Block in which a payment counts as settled: `included`, any block (3 to 6 seconds, default), or `solidified`, a block that
   * 19 of the 27 producers have built upon (about a minute).
   */
  readonly finality?: "included" | "solidified"
  /** Highest fee limit that is accepted, in sun: the TRX of the payer that a failure may burn. Default 100 TRX. */
  readonly maxFeeLimit?: bigint
  /** Most pending payments of one payer; default 8. Further ones wait. */
  readonly maxPendingPerPayer?: number
  /** Most pending payments of one caller, if callers have names; default 128, half of the pending payments in all. */
  readonly maxPendingPerCaller?: number
  /** Account that lends payers the energy for their transfers; default none, and payers pay for energy in TRX. */
  readonly sponsor?: EnergySponsor.Options
  /** Timeout of a request to the node, in milliseconds; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Receives the path of each request to the node, for counting. */
  readonly onRequest?: (path: string) => void
}

/** Most pending payments in all. */
const capacity = 256
const defaultPerPayer = 8
const defaultPerCaller = 128

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.nodeUrl("https://api.trongrid.io"),
  rpcHeaders: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TronAsset.check),
  finality: OptionCheck.optional(OptionCheck.oneOf("included", "solidified")),
  maxFeeLimit: OptionCheck.optional(OptionCheck.amount()),
  maxPendingPerPayer: OptionCheck.optional(OptionCheck.whole(1, capacity)),
  maxPendingPerCaller: OptionCheck.optional(OptionCheck.whole(1, capacity)),
  sponsor: OptionCheck.optional(EnergySponsor.check),
  rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})

/** The state that the parts of the scheme facilitator share. */
export interface ExactTronChain extends TronObservation.Context {
  /** Judges a payment; the response of a node that is behind refuses none. */
  readonly judge: TronLagGuard.TronLagGuard["judge"]
  readonly network: PaymentRequirements.PaymentRequirements["network"]
  readonly assets: AssetTable.AssetTable
  readonly maxFeeLimit: bigint
  readonly sponsor: EnergySponsor.EnergySponsor | undefined
  /** Most pending payments: in all, of one payer, of one caller. */
  readonly pendingLimits: { readonly capacity: number; readonly payer: number; readonly caller: number }
  /** The TRX, energy and bandwidth that pending payments will take from their payers. */
  readonly commitments: TronCommitments.TronCommitments
  /** The chain's prices, remembered for a minute. */
  readonly prices: Effect.Effect<TronRpc.Prices, ChainUnavailable>
  /** Proves a token against the chain before its first use. */
  readonly prove: (token: Asset) => Effect.Effect<void, ChainUnavailable>
}

const defaultMaxFeeLimit = 100_000_000n

/** Time for which prices are remembered, in milliseconds; they change by vote, at most every six hours. */
const pricesMillis = 60_000

/** Connects; succeeds once the node is proven to serve the network. A sponsor works until the scope closes. */
export const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ExactTronChain, Misconfigured | ChainUnavailable, Scope.Scope> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "exactTron.facilitator"))
  const { finality = "included", maxFeeLimit = defaultMaxFeeLimit, network: given = TronNetwork.mainnet } = options
  const network = TronNetwork.fromText(given)
  if (network === undefined) return yield* wrong(`network "${given}" is not a TRON network such as tron:mainnet`)
  if (maxFeeLimit <= 0n) return yield* wrong(`maxFeeLimit ${maxFeeLimit} is not a positive number of sun`)
  const assets = yield* Effect.fromResult(TronAsset.table(options.assets ?? []))
  const { onRequest, rpcHeaders, rpcTimeoutMillis, rpcUrl } = options
  const { judge, rpc } = yield* Effect.map(
    TronRpc.make({
      url: rpcUrl,
      network,
      ...(rpcHeaders && { headers: rpcHeaders }),
      ...(rpcTimeoutMillis !== undefined && { timeout: rpcTimeoutMillis }),
      ...(onRequest && { onRequest })
    }),
    TronLagGuard.make
  )
  yield* TronChainCheck.network(rpc, network)
  const prices = remembered(rpc.prices)
  return {
    rpc,
    judge,
    network,
    assets,
    finality,
    maxFeeLimit,
    lookup: PerBlockLookup.make(rpc.head),
    confirmFailure: FailureConfirmation.make(rpc.head),
    ends: EndConfirmation.make(),
    pendingLimits: {
      capacity,
      payer: options.maxPendingPerPayer ?? defaultPerPayer,
      caller: options.maxPendingPerCaller ?? defaultPerCaller
    },
    commitments: TronCommitments.make(),
    sponsor: options.sponsor && (yield* EnergySponsor.make(rpc, prices, options.sponsor)),
    prices,
    prove: provingOnce(rpc)
  }
})

const remembered = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let known: { readonly value: A; readonly until: number } | undefined
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (known !== undefined && now < known.until) return known.value
    const value = yield* request
    known = { value, until: now + pricesMillis }
    return value
  })
}

const provingOnce = (rpc: TronRpc.TronRpc) => {
  const proven = new Set<Asset>()
  return (token: Asset): Effect.Effect<void, ChainUnavailable> =>
    proven.has(token)
      ? Effect.void
      : TronChainCheck.asset(rpc, token).pipe(
          Effect.andThen(Effect.sync(() => void proven.add(token))),
          Effect.catchTag("Misconfigured", (error) => notSettleable(rpc.network, error))
        )
}

/** A token that differs from the operator's table is the operator's mistake, not a verdict about the payment. */
const notSettleable = (network: string, { message }: Misconfigured) =>
  Effect.andThen(Effect.logError(message), Effect.fail(new ChainUnavailable({ network, message })))

const wrong = (reason: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactTron.facilitator: ${reason}` }))
