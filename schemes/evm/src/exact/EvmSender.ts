/**
 * The parts that every scheme facilitator of this family is built of: a node that serves the network, the signers, the tokens, the
 * chain's head, the losses, and the memory of observations.
 */
import { type Asset, type AssetTable, ChainUnavailable, Misconfigured, type PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmMissingTransfers from "../evidence/EvmMissingTransfers.ts"
import * as EvmObservation from "../evidence/EvmObservation.ts"
import * as EvmUnconfirmedFailures from "../evidence/EvmUnconfirmedFailures.ts"
import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmLosses from "../sending/EvmLosses.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as TransferSimulation from "../transfer/TransferSimulation.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"
import * as EvmChainCheck from "./EvmChainCheck.ts"
import type { SenderOptions } from "./SenderOptions.ts"

/** The parts. */
export interface EvmSender {
  readonly rpc: EvmRpc.Shape
  readonly lagGuard: EvmLagGuard.EvmLagGuard
  readonly network: PaymentRequirements.PaymentRequirements["network"]
  readonly chainId: number
  readonly assets: AssetTable.AssetTable
  /** Keyed by their addresses with checksum. */
  readonly signers: ReadonlyMap<string, EvmTransactionSigner>
  /** The sender of simulated calls: the first signer. */
  readonly from: EvmAddress.Address
  readonly chainHead: EvmObservation.Context["chainHead"]
  /** Explains why a transfer has failed. */
  readonly explain: EvmMissingTransfers.Explain
  /** Failures of payments that are not confirmed yet. */
  readonly failures: EvmUnconfirmedFailures.EvmUnconfirmedFailures
  readonly lastObservations: EvmObservation.Context["lastObservations"]
  readonly losses: EvmLosses.EvmLosses
  /** Checks a token against the chain before it is first used. */
  readonly prove: (token: Asset) => Effect.Effect<void, ChainUnavailable>
}

/**
 * Connects. It checks that the RPC serves the network, and that the signers are plain accounts: in a node's pool an account with code
 * (EIP-7702) has no lane of its own. `role` names the constructor in messages.
 */
export const senderOf = Effect.fnUntraced(function* (
  options: SenderOptions,
  role: string
): Effect.fn.Return<EvmSender, Misconfigured | ChainUnavailable> {
  const { banMillis, finalityDepth = EvmChainHead.defaultFinalityDepth, lossBudgetPerCaller, maxFeePerGas } = options
  const assets = yield* Effect.fromResult(EvmAsset.table(options.assets ?? []))
  const { network, node } = yield* connected(options, role)
  const lagGuard = EvmLagGuard.make(node)
  const { rpc } = lagGuard
  const signers = yield* plainAccounts(rpc, Array.isArray(options.signer) ? options.signer : [options.signer], role)
  const [first] = signers.keys()
  if (first === undefined) return yield* wrong(role, "give at least one signer")
  const from = addressOf(first)
  return {
    rpc,
    lagGuard,
    network,
    chainId: EvmNetwork.chainId(network),
    assets,
    signers,
    from,
    chainHead: EvmChainHead.make(rpc, { finalityDepth, ...(maxFeePerGas !== undefined && { maxFeePerGas }) }),
    explain: TransferSimulation.explaining(rpc, from),
    failures: EvmUnconfirmedFailures.make(),
    lastObservations: EvmObservation.makeLastObservations(),
    losses: yield* EvmLosses.make({
      total: options.lossBudget ?? EvmSpendLimits.lossBudget(network),
      ...(lossBudgetPerCaller !== undefined && { perCaller: lossBudgetPerCaller }),
      ...(options.callers && { callers: options.callers }),
      ...(banMillis !== undefined && { banMillis })
    }),
    prove: provingOnce(rpc)
  }
})

/** The address of a lane. */
export const addressOf = (lane: string): EvmAddress.Address => EvmAddress.fromText(lane) ?? EvmAddress.zero

/** Connects to the node; it has to serve the network. */
const connected = Effect.fnUntraced(function* (
  { network: given, onRequest, rpcTimeoutMillis, rpcUrl }: SenderOptions,
  role: string
) {
  const rpcFor = (network: string) =>
    EvmRpc.make({
      url: rpcUrl,
      network,
      ...(rpcTimeoutMillis !== undefined && { timeout: rpcTimeoutMillis }),
      ...(onRequest && { onRequest })
    })
  const network = given ?? EvmNetwork.fromChainId(yield* (yield* rpcFor("eip155")).chainId)
  const canonical = EvmNetwork.fromText(network)
  if (canonical === undefined) return yield* wrong(role, `network: "${network}" ${EvmNetwork.fault}`)
  const node = yield* rpcFor(canonical)
  yield* EvmChainCheck.network(node, canonical)
  return { node, network: canonical }
})

/** The signers by their addresses with checksum; each has to be an account without code. */
const plainAccounts = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  given: ReadonlyArray<EvmTransactionSigner>,
  role: string
) {
  const signers = new Map<string, EvmTransactionSigner>()
  for (const signer of given) {
    const address = EvmAddress.fromText(signer.address)
    if (address === undefined) return yield* wrong(role, `the signer's address "${signer.address}" is not an address`)
    if ((yield* rpc.getCode(address)) !== "0x") {
      const what = `the signer ${signer.address} has code on ${rpc.network}; use a plain account that delegates to nothing`
      return yield* wrong(role, what)
    }
    signers.set(EvmAddress.checksum(address), signer)
  }
  return signers
})

/** Compares each token with the chain, once. */
const provingOnce = (rpc: EvmRpc.Shape) => {
  const proven = new Set<Asset>()
  return (token: Asset): Effect.Effect<void, ChainUnavailable> =>
    proven.has(token)
      ? Effect.void
      : EvmChainCheck.asset(rpc, token).pipe(
          Effect.andThen(Effect.sync(() => void proven.add(token))),
          Effect.catchTag("Misconfigured", (error) => notSettleable(rpc.network, error))
        )
}

/** A token that differs from the operator's table is the operator's fault and says nothing about the payment. */
const notSettleable = (network: string, { message }: Misconfigured) =>
  Effect.andThen(Effect.logError(message), Effect.fail(new ChainUnavailable({ network, message })))

const wrong = (role: string, what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `${role}: ${what}` }))
