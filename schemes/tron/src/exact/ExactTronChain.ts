/**
 * What the parts of the settling half share: a node that was shown to serve the network, the tokens, the policy, and the
 * sponsor of energy where there is one.
 */
import { type Asset, type AssetTable, ChainUnavailable, Misconfigured, type PaymentRequirements } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as FailureConfirmation from "../evidence/FailureConfirmation.ts"
import * as PerBlockLookup from "../evidence/PerBlockLookup.ts"
import * as TronChainCheck from "../node/TronChainCheck.ts"
import * as TronHead from "../node/TronHead.ts"
import * as TronRpc from "../node/TronRpc.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import * as EnergySponsor from "../sending/EnergySponsor.ts"
import * as TronCommitments from "../sending/TronCommitments.ts"
import * as TronAsset from "../transfer/TronAsset.ts"

/**
 * Where payments settle, and by what policy. A facilitator of TRON needs no signer: payers sign the transactions
 * themselves. Only a sponsor has one.
 */
export interface Options {
  /** A full node, the part before `/wallet`. */
  readonly rpcUrl: string
  /** Sent with every question to the node: a provider's key (`TRON-PRO-API-KEY`). */
  readonly rpcHeaders?: Readonly<Record<string, string>>
  /** Default `tron:mainnet`. */
  readonly network?: string
  /** Tokens to settle beyond the known ones; no other token is ever settled. */
  readonly assets?: ReadonlyArray<TronAsset.CustomAsset>
  /**
   * When a payment counts as made: `included` in a block (3 to 6 seconds, default), or `solidified`, in a block that 19
   * of the 27 producers have built upon (about a minute).
   */
  readonly finality?: "included" | "solidified"
  /** The highest fee limit that is taken, in sun; default 100 TRX: what a failure may burn of the payer's. */
  readonly maxFeeLimit?: bigint
  /** How many payments of one payer may be on their way at once; default 8. More of them wait for these. */
  readonly maxInFlightPerPayer?: number
  /** The same for one caller, where callers are told apart; default 128, half of what may be on its way in all. */
  readonly maxInFlightPerCaller?: number
  /** Lends payers the energy for their transfers; default nobody does, and payers pay it in TRX. */
  readonly sponsor?: EnergySponsor.Options
  /** Milliseconds until a question to the node counts as unanswered; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the path of each question to the node: for counting. */
  readonly onRequest?: (path: string) => void
}

/** How many payments may be on their way at once. */
const capacity = 256
const defaultPerPayer = 8
const defaultPerCaller = 128

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.text,
  rpcHeaders: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TronAsset.check),
  finality: OptionCheck.optional(OptionCheck.oneOf("included", "solidified")),
  maxFeeLimit: OptionCheck.optional(OptionCheck.amount()),
  maxInFlightPerPayer: OptionCheck.optional(OptionCheck.whole(1, capacity)),
  maxInFlightPerCaller: OptionCheck.optional(OptionCheck.whole(1, capacity)),
  sponsor: OptionCheck.optional(EnergySponsor.check),
  rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})

/** What the parts of the half share. */
export interface ExactTronChain {
  readonly rpc: TronRpc.TronRpc
  /** Judges a payment; a node that is behind refuses none. */
  readonly judge: TronHead.TronHead["judge"]
  readonly network: PaymentRequirements.PaymentRequirements["network"]
  readonly assets: AssetTable.AssetTable
  readonly finality: "included" | "solidified"
  readonly maxFeeLimit: bigint
  readonly sponsor: EnergySponsor.EnergySponsor | undefined
  /** How many payments may be on their way at once: in all, of one payer, of one caller. */
  readonly inFlight: { readonly capacity: number; readonly payer: number; readonly caller: number }
  /** What they will take of their payers. */
  readonly commitments: TronCommitments.TronCommitments
  /** Looks for transactions with few questions. */
  readonly look: PerBlockLookup.Look
  /** Believes a failure in a block when it was seen twice. */
  readonly twice: FailureConfirmation.SecondLook
  /** What the chain charges; remembered for a minute. */
  readonly prices: Effect.Effect<TronRpc.Prices, ChainUnavailable>
  /** Proves a token against the chain before it is first used. */
  readonly prove: (token: Asset) => Effect.Effect<void, ChainUnavailable>
}

const defaultMaxFeeLimit = 100_000_000n

/** Prices change by vote, at most every six hours. */
const pricesMillis = 60_000

/**
 * Connects. It succeeds once the node has shown that it serves the network. A sponsor works until the scope closes.
 */
export const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ExactTronChain, Misconfigured | ChainUnavailable, Scope.Scope> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "exactTron.facilitator"))
  const { finality = "included", maxFeeLimit = defaultMaxFeeLimit, network: given = TronNetwork.mainnet } = options
  const network = TronNetwork.fromText(given)
  if (network === undefined) return yield* wrong(`network "${given}" is no TRON network such as tron:mainnet`)
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
    TronHead.make
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
    look: PerBlockLookup.make(rpc.head),
    twice: FailureConfirmation.make(rpc.head),
    inFlight: {
      capacity,
      payer: options.maxInFlightPerPayer ?? defaultPerPayer,
      caller: options.maxInFlightPerCaller ?? defaultPerCaller
    },
    commitments: TronCommitments.make(),
    sponsor: options.sponsor && (yield* EnergySponsor.make(rpc, prices, options.sponsor)),
    prices,
    prove: provingOnce(rpc)
  }
})

const remembered = <A, E>(ask: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let known: { readonly value: A; readonly until: number } | undefined
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (known !== undefined && now < known.until) return known.value
    const value = yield* ask
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

/** A token that is not what the operator's table says is the operator's fault, and no verdict about the payment. */
const notSettleable = (network: string, { message }: Misconfigured) =>
  Effect.andThen(Effect.logError(message), Effect.fail(new ChainUnavailable({ network, message })))

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactTron.facilitator: ${what}` }))
