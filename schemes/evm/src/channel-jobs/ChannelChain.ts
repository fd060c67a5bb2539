/**
 * The context that the modules of the channels' facilitator share: a node that serves the network, the signers, the tokens, the losses,
 * and the key that authorizes claims for shops.
 */
import { type Asset, type AssetTable, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import { EvmCrypto } from "../crypto/EvmCrypto.ts"
import type * as EvmMissingTransfers from "../evidence/EvmMissingTransfers.ts"
import * as EvmObservation from "../evidence/EvmObservation.ts"
import * as EvmUnconfirmedFailures from "../evidence/EvmUnconfirmedFailures.ts"
import { addressOf, connected, plainAccounts, provingOnce } from "../exact/ExactEvmChain.ts"
import type { SigningChain } from "../exact/ExactEvmPreparation.ts"
import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmLosses from "../sending/EvmLosses.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as TransferSimulation from "../transfer/TransferSimulation.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import type { ChannelWork } from "./ChannelJob.ts"
import { check, type Options } from "./ChannelOptions.ts"

/** The facilitator's key for claims and refunds. */
export interface Authorizer {
  readonly address: EvmAddress.Address
  readonly signer: EvmSigner
  readonly signsFor: (caller: string) => boolean
}

/** The shared context. */
export interface ChannelChain extends SigningChain<ChannelWork> {
  readonly lagGuard: EvmLagGuard.EvmLagGuard
  readonly rpc: EvmLagGuard.EvmLagGuard["rpc"]
  readonly chainHead: EvmObservation.Context["chainHead"]
  readonly assets: AssetTable.AssetTable
  /** The sender of simulated calls: the first signer. */
  readonly from: EvmAddress.Address
  readonly explain: EvmMissingTransfers.Explain
  readonly failures: EvmUnconfirmedFailures.EvmUnconfirmedFailures
  readonly lastObservations: EvmObservation.Context["lastObservations"]
  readonly prove: (token: Asset) => Effect.Effect<void, ChainUnavailable>
  readonly authorizer: Authorizer | undefined
  readonly minimumDeposit: bigint
}

const defaultMinimumDeposit = 10_000n

const wrong = (what: string) => Effect.fail(new Misconfigured({ message: `channelEvm.facilitator: ${what}` }))

/** Connects. It checks that the RPC serves the network, that it has the contract, and that the signers are plain accounts. */
export const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ChannelChain, Misconfigured | ChainUnavailable> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "channelEvm.facilitator"))
  const { banMillis, finalityDepth = EvmChainHead.defaultFinalityDepth, maxFeePerGas, minimumDeposit } = options
  const assets = yield* Effect.fromResult(EvmAsset.table(options.assets ?? []))
  const { network, node } = yield* connected(options)
  const lagGuard = EvmLagGuard.make(node)
  const { rpc } = lagGuard
  for (const address of [ChannelContract.address, ChannelContract.erc3009Collector]) {
    if ((yield* rpc.getCode(address)) === "0x")
      return yield* wrong(`${network} has no contract of payment channels at ${EvmAddress.checksum(address)}`)
  }
  const signers = yield* plainAccounts(rpc, Array.isArray(options.signer) ? options.signer : [options.signer])
  const [first] = signers.keys()
  if (first === undefined) return yield* wrong("give at least one signer")
  const from = addressOf(first)
  const crypto = yield* EvmCrypto
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
    callContext: { crypto, accounts: EvmAccountCode.make(lagGuard) },
    batches: undefined,
    losses: yield* EvmLosses.make({
      total: options.lossBudget ?? EvmSpendLimits.lossBudget(network),
      ...(options.lossBudgetPerCaller !== undefined && { perCaller: options.lossBudgetPerCaller }),
      ...(options.callers && { callers: options.callers }),
      ...(banMillis !== undefined && { banMillis })
    }),
    prove: provingOnce(rpc),
    authorizer: yield* authorizerOf(options),
    minimumDeposit: minimumDeposit ?? defaultMinimumDeposit
  }
})

const authorizerOf = ({ authorizer }: Options): Effect.Effect<Authorizer | undefined, Misconfigured> => {
  if (authorizer === undefined) return Effect.succeed(undefined)
  const { callers = () => true, signer } = authorizer
  const address = EvmAddress.fromText(signer.address)
  return address === undefined
    ? wrong(`authorizer: the signer's address "${signer.address}" is not an address`)
    : Effect.succeed({ address, signer, signsFor: callers })
}
