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
import * as BatchSettling from "../sending/BatchSettling.ts"
import * as ContractDeployment from "../sending/ContractDeployment.ts"
import * as EvmLosses from "../sending/EvmLosses.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import * as OwnContracts from "../sending/OwnContracts.ts"
import type * as CounterfactualTransfer from "../transfer/CounterfactualTransfer.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmKnownCode from "../transfer/EvmKnownCode.ts"
import type * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import * as KnownFactories from "../transfer/KnownFactories.ts"
import type * as OperationCall from "../transfer/OperationCall.ts"
import * as PackedTransfers from "../transfer/PackedTransfers.ts"
import * as TransferSimulation from "../transfer/TransferSimulation.ts"
import * as UserOperation from "../transfer/UserOperation.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"
import * as ContractPayers from "./ContractPayers.ts"
import * as EvmChainCheck from "./EvmChainCheck.ts"
import * as OperationPayers from "./OperationPayers.ts"

/** Settings of batches. */
export interface Batches {
  /** The address of the contract `BatchSettler`, which `deployBatchSettler` makes. Its code is checked at start. */
  readonly settler: string
  /** The most payments of one transaction: 2 to 100, default 50. */
  readonly maximum?: number
  /**
   * The maximum cost of one transaction, in wei; default 1 ether, since nodes commonly reject a dearer one (`rpc.txfeecap` of
   * geth). It counts the most gas that the payments may use, about 160 000 each.
   */
  readonly maximumCost?: bigint
  /** The longest wait of a payment for others of its batch, in milliseconds; default 50. */
  readonly windowMillis?: number
}

/**
 * Settings of user operations. The contract `PaymentGuard` (`deployPaymentGuard`) has to be on the chain: its code is checked at
 * start, and so is that of the EntryPoints.
 */
export interface UserOperations {
  /** The versions of EntryPoints that are served; default both. */
  readonly entryPoints?: ReadonlyArray<"0.7" | "0.8">
  /**
   * The least amount of a payment by a user operation, in the smallest unit of its token; default 0. On a dear network the gas of
   * a small payment costs more than the payment.
   */
  readonly minimumAmount?: bigint
}

/** Options of `exactEvm.facilitator`. */
export interface Options {
  /** The account that sends transactions and pays their gas, or several that share the load. A viem local account fits. */
  readonly signer: EvmTransactionSigner | ReadonlyArray<EvmTransactionSigner>
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `base`; default the network that the RPC serves. */
  readonly network?: string
  /** Tokens to settle beside the known ones; no other token is ever settled. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** The maximum price of a unit of gas, in wei; default 500 gwei. While the chain costs more, nothing is settled. */
  readonly maxFeePerGas?: bigint
  /**
   * Blocks behind the head from which a block counts as final; default 64. The node has to know the state that many blocks
   * back.
   */
  readonly finalityDepth?: number
  /** Several payments in one transaction; default one by one. */
  readonly batches?: Batches
  /** Milliseconds for which a verification waits for others that share its request; default 2, 0 for none. */
  readonly verifyWindowMillis?: number
  /**
   * The accounts with code that may pay (ERC-1271, EIP-7702); default `known`: those that run only code known to validate a
   * signature by the chain's state. `any` accepts every payment whose simulation succeeds. `none` refuses accounts with code;
   * then a signature that is not the payer's own costs no request to the RPC. `lossBudget` bounds the cost of hostile code in
   * any case.
   */
  readonly contractPayers?: ContractPayers.ContractPayers
  /** Known code beside our own table: addresses of implementations (20 bytes), or Keccak-256 hashes of code (32 bytes). */
  readonly knownImplementations?: ReadonlyArray<string>
  /**
   * The address of the contract `CounterfactualSettler`, which `deployCounterfactualSettler` makes; its code is checked at
   * start. With it accounts that are not deployed yet pay too (ERC-6492): their first payment deploys them. Default none: they
   * are refused.
   */
  readonly counterfactualSettler?: string
  /** Factories of accounts beside our own table; no other factory is ever called. */
  readonly knownFactories?: ReadonlyArray<string>
  /** Payments by user operations of smart accounts (ERC-4337); default none. */
  readonly userOperations?: UserOperations
  /**
   * The limit of losses by failed payments in 24 hours, in wei; default 0.1 ether, and about as much in other coins
   * (`EvmSpendLimits`). Above it only payers that have settled a payment here in the last 24 hours are served.
   */
  readonly lossBudget?: bigint
  /** The part of `lossBudget` that the payers of one caller may use, in wei; default its share by `callers`, else a quarter. */
  readonly lossBudgetPerCaller?: bigint
  /** The names of the callers who share `lossBudget`: half of it is held for them in equal parts (`CallerShares`). */
  readonly callers?: ReadonlyArray<string>
  /** Milliseconds of a payer's ban after its payment failed on the chain by its own fault; default one hour. */
  readonly banMillis?: number
  /** Timeout of a request to the RPC, in milliseconds; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the method of each request to the RPC, for counting. */
  readonly onRequest?: (method: string) => void
}

const signer = OptionCheck.having<EvmTransactionSigner>(
  "a signer, such as exactEvm.localSigner(privateKey) or a viem local account",
  "address",
  "signTransaction"
)

const check = OptionCheck.options<Options>({
  signer: OptionCheck.either(signer, OptionCheck.list(signer)),
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(EvmAsset.check),
  maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n)),
  finalityDepth: OptionCheck.optional(OptionCheck.whole()),
  batches: OptionCheck.optional(
    OptionCheck.options<Batches>({
      settler: OptionCheck.text,
      maximum: OptionCheck.optional(OptionCheck.whole()),
      maximumCost: OptionCheck.optional(OptionCheck.amount()),
      windowMillis: OptionCheck.optional(OptionCheck.whole())
    })
  ),
  verifyWindowMillis: OptionCheck.optional(OptionCheck.whole()),
  contractPayers: OptionCheck.optional(OptionCheck.oneOf("known", "any", "none")),
  knownImplementations: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  counterfactualSettler: OptionCheck.optional(OptionCheck.text),
  knownFactories: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  userOperations: OptionCheck.optional(
    OptionCheck.options<UserOperations>({
      entryPoints: OptionCheck.optional(OptionCheck.list(OptionCheck.oneOf("0.7", "0.8"))),
      minimumAmount: OptionCheck.optional(OptionCheck.amount(0n))
    })
  ),
  lossBudget: OptionCheck.optional(OptionCheck.amount(1n)),
  lossBudgetPerCaller: OptionCheck.optional(OptionCheck.amount(1n)),
  callers: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  banMillis: OptionCheck.optional(OptionCheck.whole()),
  rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})

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
  readonly losses: EvmLosses.EvmLosses
  readonly batches: (Required<Batches> & { readonly settler: EvmAddress.Address }) | undefined
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
      crypto: yield* EvmCrypto,
      accounts: contractPayers === "none" ? EvmAccountCode.never : EvmAccountCode.make(lagGuard),
      counterfactual
    },
    judgeCode: ContractPayers.make(lagGuard, payers),
    judgeOperation: OperationPayers.make(lagGuard, payers),
    operations: yield* operating(rpc, options, addressOf(first), counterfactual),
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

const connected = Effect.fnUntraced(function* ({ network: given, onRequest, rpcTimeoutMillis, rpcUrl }: Options) {
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

const plainAccounts = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, given: ReadonlyArray<EvmTransactionSigner>) {
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

/** The user operations that are served, where they are: the guard is our contract, and each EntryPoint is there. */
const operating = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { contractPayers, userOperations: given }: Options,
  beneficiary: EvmAddress.Address,
  counterfactual: CounterfactualTransfer.CounterfactualSettling | undefined
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
  return { entryPoints, minimumAmount, beneficiary, counterfactual }
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
  const settler = EvmAddress.fromText(given.settler)
  if (settler === undefined) return yield* wrong(`batches.settler: "${given.settler}" is not an address`)
  yield* ContractDeployment.prove(rpc, BatchSettling.contract, settler)
  return { settler, maximum, maximumCost, windowMillis }
})

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

const inRange = (name: string, value: number, least: number, most: number) =>
  Number.isSafeInteger(value) && value >= least && value <= most
    ? Effect.void
    : wrong(`${name} ${value} is not an integer between ${least} and ${most}`)

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: ${what}` }))
