/**
 * The context that the modules of the scheme facilitator share: a node that serves the network, the signers, the tokens, and
 * the checks of payments.
 */
import {
  type Asset,
  type AssetTable,
  ChainUnavailable,
  Misconfigured,
  type PaymentRequirements,
  type ChainHead
} from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import { EvmCrypto } from "../crypto/EvmCrypto.ts"
import type * as EvmMissingTransfers from "../evidence/EvmMissingTransfers.ts"
import * as EvmObservation from "../evidence/EvmObservation.ts"
import * as EvmUnconfirmedFailures from "../evidence/EvmUnconfirmedFailures.ts"
import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import type * as BatchCall from "../sending/BatchCall.ts"
import * as BatchSettling from "../sending/BatchSettling.ts"
import * as ContractDeployment from "../sending/ContractDeployment.ts"
import * as EvmLosses from "../sending/EvmLosses.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import * as OperationSettling from "../sending/OperationSettling.ts"
import * as OwnContracts from "../sending/OwnContracts.ts"
import * as PermitSettling from "../sending/PermitSettling.ts"
import type * as CounterfactualTransfer from "../transfer/CounterfactualTransfer.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmKnownCode from "../transfer/EvmKnownCode.ts"
import type * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import * as KnownFactories from "../transfer/KnownFactories.ts"
import type * as OperationCall from "../transfer/OperationCall.ts"
import * as PackedTransfers from "../transfer/PackedTransfers.ts"
import * as PayerDelegation from "../transfer/PayerDelegation.ts"
import * as PermitCall from "../transfer/PermitCall.ts"
import * as TransferSimulation from "../transfer/TransferSimulation.ts"
import * as UserOperation from "../transfer/UserOperation.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"
import * as ContractPayers from "./ContractPayers.ts"
import * as EvmChainCheck from "./EvmChainCheck.ts"
import { type Batches, check, type Options } from "./ExactEvmOptions.ts"
import * as OperationPayers from "./OperationPayers.ts"
import * as PermitPayers from "./PermitPayers.ts"

/** The settlers of batches, and the batches' limits. */
export interface ServedBatches extends Required<Omit<Batches, "settler" | "operationSettler" | "permitSettler">> {
  readonly settlers: BatchCall.Settlers
}

/** The shared context of one scheme facilitator. */
export interface ExactEvmChain {
  readonly rpc: EvmRpc.Shape
  readonly lagGuard: EvmLagGuard.EvmLagGuard
  readonly network: PaymentRequirements.PaymentRequirements["network"]
  readonly chainId: number
  readonly assets: AssetTable.AssetTable
  /** Keyed by their addresses with checksum. */
  readonly signers: ReadonlyMap<string, EvmTransactionSigner>
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
  readonly simulate: TransferSimulation.Simulate
  /** Explains why a transfer has failed. */
  readonly explain: EvmMissingTransfers.Explain
  /** Failures of payments that are not confirmed yet. */
  readonly failures: EvmUnconfirmedFailures.EvmUnconfirmedFailures
  readonly lastObservations: EvmObservation.Context["lastObservations"]
  readonly callContext: EvmTransferCall.Context
  readonly judgeCode: ContractPayers.Judge
  readonly judgeOperation: OperationPayers.Judge
  readonly operations: OperationCall.ServedOperations | undefined
  readonly servesPermit2: boolean
  readonly losses: EvmLosses.EvmLosses
  readonly batches: ServedBatches | undefined
  /** Checks a token against the chain before it is first used. */
  readonly prove: (token: Asset) => Effect.Effect<void, ChainUnavailable>
}

const defaultMaximum = 50
const defaultMaximumCost = 10n ** 18n
const defaultWindowMillis = 50
const defaultVerifyWindowMillis = 2
/** The most verifications that share a request: node operators limit the gas of one. */
const verifyMaximum = 25

/**
 * Connects. It checks that the RPC serves the network, that the signers are plain accounts (in a node's
 * pool an account with code (EIP-7702) has no lane of its own), and that the batch settler has our contract's code.
 */
export const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ExactEvmChain, Misconfigured | ChainUnavailable> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "exactEvm.facilitator"))
  const { finalityDepth = EvmChainHead.defaultFinalityDepth, verifyWindowMillis = defaultVerifyWindowMillis } = options
  yield* inRange("finalityDepth", finalityDepth, 0, Number.MAX_SAFE_INTEGER)
  yield* inRange("verifyWindowMillis", verifyWindowMillis, 0, 1_000)
  const { batches } = options
  if (batches !== undefined && (batches.settler ?? batches.operationSettler ?? batches.permitSettler) === undefined) {
    return yield* wrong(
      "batches: give settler for EIP-3009 transfers, operationSettler for user operations, permitSettler for Permit2, or several of them"
    )
  }
  const assets = yield* Effect.fromResult(EvmAsset.table(options.assets ?? []))
  const { network, node } = yield* connected(options)
  const lagGuard = EvmLagGuard.make(node)
  const { rpc } = lagGuard
  const signers = yield* plainAccounts(rpc, Array.isArray(options.signer) ? options.signer : [options.signer])
  const [first] = signers.keys()
  if (first === undefined) return yield* wrong("give at least one signer")
  const { banMillis, contractPayers = "known", lossBudgetPerCaller: perCaller, maxFeePerGas } = options
  const chainHead = EvmChainHead.make(rpc, { finalityDepth, ...(maxFeePerGas !== undefined && { maxFeePerGas }) })
  const simulate = TransferSimulation.make(lagGuard, {
    from: addressOf(first),
    windowMillis: verifyWindowMillis,
    maximum: verifyMaximum
  })
  const crypto = yield* EvmCrypto
  if (options.permit2 === true) yield* PermitPayers.prove(rpc, EvmNetwork.chainId(network))
  const counterfactual = contractPayers === "none" ? undefined : yield* deploying(rpc, options)
  const payers: ContractPayers.Options = {
    policy: contractPayers,
    known: yield* Effect.fromResult(EvmKnownCode.make(options.knownImplementations ?? [])),
    signers: [...signers.keys()].map(addressOf),
    chainHead
  }
  return {
    rpc,
    lagGuard,
    network,
    chainId: EvmNetwork.chainId(network),
    assets,
    signers,
    chainHead,
    simulate,
    explain: TransferSimulation.explaining(rpc, addressOf(first)),
    failures: EvmUnconfirmedFailures.make(),
    lastObservations: EvmObservation.makeLastObservations(),
    callContext: {
      crypto,
      accounts: contractPayers === "none" ? EvmAccountCode.never : EvmAccountCode.make(lagGuard),
      counterfactual
    },
    judgeCode: ContractPayers.make(lagGuard, payers),
    judgeOperation: OperationPayers.make(lagGuard, payers),
    operations: yield* operating(rpc, options, addressOf(first), counterfactual, {
      chainId: EvmNetwork.chainId(network),
      delegates: new Set([...PayerDelegation.delegates, ...implementationsIn(options)]),
      crypto
    }),
    servesPermit2: options.permit2 === true,
    losses: yield* EvmLosses.make({
      total: options.lossBudget ?? EvmSpendLimits.lossBudget(network),
      ...(perCaller !== undefined && { perCaller }),
      ...(options.callers && { callers: options.callers }),
      ...(banMillis !== undefined && { banMillis })
    }),
    batches: options.batches && (yield* settling(rpc, options.batches)),
    prove: provingOnce(rpc)
  }
})

/** The address of a lane. */
export const addressOf = (lane: string): EvmAddress.Address => EvmAddress.fromText(lane) ?? EvmAddress.zero

/** Connects to the node; it has to serve the network. */
export const connected = Effect.fnUntraced(function* ({
  network: given,
  onRequest,
  rpcTimeoutMillis,
  rpcUrl
}: Pick<Options, "network" | "onRequest" | "rpcTimeoutMillis" | "rpcUrl">) {
  const rpcFor = (network: string) =>
    EvmRpc.make({
      url: rpcUrl,
      network,
      ...(rpcTimeoutMillis !== undefined && { timeout: rpcTimeoutMillis }),
      ...(onRequest && { onRequest })
    })
  const network = given ?? EvmNetwork.fromChainId(yield* (yield* rpcFor("eip155")).chainId)
  const canonical = EvmNetwork.fromText(network)
  if (canonical === undefined) return yield* wrong(`network: "${network}" ${EvmNetwork.fault}`)
  const node = yield* rpcFor(canonical)
  yield* EvmChainCheck.network(node, canonical)
  return { node, network: canonical }
})

/** The signers by their addresses with checksum; each has to be an account without code. */
export const plainAccounts = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  given: ReadonlyArray<EvmTransactionSigner>
) {
  const signers = new Map<string, EvmTransactionSigner>()
  for (const signer of given) {
    const address = EvmAddress.fromText(signer.address)
    if (address === undefined) return yield* wrong(`the signer's address "${signer.address}" is not an address`)
    if ((yield* rpc.getCode(address)) !== "0x") {
      const what = `the signer ${signer.address} has code on ${rpc.network}; use a plain account that delegates to nothing`
      return yield* wrong(what)
    }
    signers.set(EvmAddress.checksum(address), signer)
  }
  return signers
})

/** The implementations that the operator knows by their addresses. */
const implementationsIn = ({ knownImplementations = [] }: Options) =>
  knownImplementations.flatMap((text) => EvmAddress.fromText(text) ?? [])

/** The user operations that are served, where they are: the guard is our contract, and each EntryPoint is there. */
const operating = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { contractPayers, userOperations: given }: Options,
  beneficiary: EvmAddress.Address,
  counterfactual: CounterfactualTransfer.CounterfactualSettling | undefined,
  delegating: PayerDelegation.ServedDelegations
) {
  if (given === undefined) return undefined
  if (contractPayers === "none") return yield* wrong('userOperations: contractPayers "none" refuses all smart accounts')
  const { entryPoints: versions = ["0.7", "0.8"], minimumAmount = 0n } = given
  const served = UserOperation.entryPoints.filter(({ version }) => versions.includes(version))
  if (served.length === 0) return yield* wrong("userOperations.entryPoints: give at least one version")
  yield* ContractDeployment.prove(rpc, OwnContracts.paymentGuard, GuardContract.address)
  for (const { address, version } of served) {
    if ((yield* rpc.getCode(address)) === "0x") {
      return yield* wrong(
        `userOperations: ${rpc.network} has no EntryPoint ${version} at ${EvmAddress.checksum(address)}`
      )
    }
  }
  const entryPoints = new Set(served.map(({ address }) => address))
  const delegations = given.delegations === "known" ? delegating : undefined
  return { entryPoints, minimumAmount, beneficiary, counterfactual, delegations }
})

/** The deployment of payers' accounts, where there is a settler for it. */
const deploying = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { counterfactualSettler: given, knownFactories = [] }: Options
) {
  const factories = yield* Effect.fromResult(KnownFactories.make(knownFactories))
  if (given === undefined) return undefined
  const settler = EvmAddress.fromText(given)
  if (settler === undefined) return yield* wrong(`counterfactualSettler: "${given}" is not an address`)
  yield* ContractDeployment.prove(rpc, OwnContracts.counterfactualSettler, settler)
  return { settler, factories }
})

const settling = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, given: Batches) {
  const { maximum = defaultMaximum, maximumCost = defaultMaximumCost, windowMillis = defaultWindowMillis } = given
  yield* inRange("batches.maximum", maximum, 2, PackedTransfers.maximumEntries)
  yield* inRange("batches.windowMillis", windowMillis, 0, 60_000)
  if (maximumCost <= 0n) return yield* wrong(`batches.maximumCost ${maximumCost} is not above zero`)
  const settlers: BatchCall.Settlers = {
    transfers: yield* settlerAt(rpc, "settler", BatchSettling.contract, given.settler),
    operations: yield* settlerAt(rpc, "operationSettler", OperationSettling.contract, given.operationSettler),
    permits: yield* settlerAt(rpc, "permitSettler", PermitSettling.contract, given.permitSettler)
  }
  if (settlers.permits !== undefined && settlers.permits !== PermitCall.settler) {
    return yield* wrong(
      `batches.permitSettler: ${EvmAddress.checksum(settlers.permits)} is not ${OwnContracts.permitSettlerAddress}, whose events prove transfers`
    )
  }
  return { settlers, maximum, maximumCost, windowMillis }
})

const settlerAt = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  name: "settler" | "operationSettler" | "permitSettler",
  contract: ContractDeployment.OwnContract,
  given: string | undefined
) {
  if (given === undefined) return undefined
  const address = EvmAddress.fromText(given)
  if (address === undefined) return yield* wrong(`batches.${name}: "${given}" is not an address`)
  yield* ContractDeployment.prove(rpc, contract, address)
  return address
})

/** Compares each token with the chain, once. */
export const provingOnce = (rpc: EvmRpc.Shape) => {
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

const inRange = (name: string, value: number, least: number, most: number) =>
  Number.isSafeInteger(value) && value >= least && value <= most
    ? Effect.void
    : wrong(`${name} ${value} is not an integer between ${least} and ${most}`)

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: ${what}` }))
