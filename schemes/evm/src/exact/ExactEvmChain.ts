/**
 * The context that the modules of the scheme facilitator share: a node that serves the network, the signers, the tokens, and
 * the checks of payments.
 */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import * as RouteSettings from "../bridge/RouteSettings.ts"
import { EvmCrypto } from "../crypto/EvmCrypto.ts"
import * as InventorySettings from "../inventory/InventorySettings.ts"
import type { ServedInventory } from "../inventory/ServedInventory.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"
import type * as BatchCall from "../sending/BatchCall.ts"
import * as BatchSettling from "../sending/BatchSettling.ts"
import * as ContractDeployment from "../sending/ContractDeployment.ts"
import * as MinimumPrice from "../sending/MinimumPrice.ts"
import * as OperationSettling from "../sending/OperationSettling.ts"
import * as OwnContracts from "../sending/OwnContracts.ts"
import * as PermitSettling from "../sending/PermitSettling.ts"
import type * as CounterfactualTransfer from "../transfer/CounterfactualTransfer.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
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
import * as ContractPayers from "./ContractPayers.ts"
import * as EvmChainCheck from "./EvmChainCheck.ts"
import { addressOf, type EvmSender, senderOf } from "./EvmSender.ts"
import { type Batches, check, type Options } from "./ExactEvmOptions.ts"
import * as OperationPayers from "./OperationPayers.ts"
import * as PermitPayers from "./PermitPayers.ts"

/** The settlers of batches, and the batches' limits. */
export interface ServedBatches extends Required<Omit<Batches, "settler" | "operationSettler" | "permitSettler">> {
  readonly settlers: BatchCall.Settlers
}

/** The shared context of one scheme facilitator. */
export interface ExactEvmChain extends EvmSender {
  readonly simulate: TransferSimulation.Simulate
  readonly callContext: EvmTransferCall.Context
  readonly judgeCode: ContractPayers.Judge
  readonly judgeOperation: OperationPayers.Judge
  readonly operations: OperationCall.ServedOperations | undefined
  readonly servesPermit2: boolean
  readonly minimum: MinimumPrice.Minimum
  readonly batches: ServedBatches | undefined
  readonly routes: RouteSettings.RouteService | undefined
  readonly inventory: ServedInventory | undefined
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
  const { verifyWindowMillis = defaultVerifyWindowMillis } = options
  yield* inRange("verifyWindowMillis", verifyWindowMillis, 0, 1_000)
  const { batches } = options
  if (batches !== undefined && (batches.settler ?? batches.operationSettler ?? batches.permitSettler) === undefined) {
    return yield* wrong(
      "batches: give settler for EIP-3009 transfers, operationSettler for user operations, permitSettler for Permit2, or several of them"
    )
  }
  const sender = yield* senderOf(options, "exactEvm.facilitator")
  const { chainHead, chainId, from, lagGuard, rpc, signers } = sender
  const { contractPayers = "known" } = options
  const simulate = TransferSimulation.make(lagGuard, {
    from,
    windowMillis: verifyWindowMillis,
    maximum: verifyMaximum
  })
  const crypto = yield* EvmCrypto
  if (options.permit2 === true) yield* PermitPayers.prove(rpc, chainId)
  const counterfactual = contractPayers === "none" ? undefined : yield* deploying(rpc, options)
  const payers: ContractPayers.Options = {
    policy: contractPayers,
    known: yield* Effect.fromResult(EvmKnownCode.make(options.knownImplementations ?? [])),
    signers: [...signers.keys()].map(addressOf),
    chainHead
  }
  return {
    ...sender,
    simulate,
    callContext: {
      crypto,
      accounts: contractPayers === "none" ? EvmAccountCode.never : EvmAccountCode.make(lagGuard),
      counterfactual
    },
    judgeCode: ContractPayers.make(lagGuard, payers),
    judgeOperation: OperationPayers.make(lagGuard, payers),
    operations: yield* operating(rpc, options, from, counterfactual, {
      chainId,
      delegates: new Set([...PayerDelegation.delegates, ...implementationsIn(options)]),
      crypto
    }),
    servesPermit2: options.permit2 === true,
    minimum: yield* Effect.fromResult(MinimumPrice.make(options, sender.network, sender.assets, "exactEvm")),
    batches: options.batches && (yield* settling(rpc, options.batches)),
    routes:
      options.routes &&
      (yield* RouteSettings.make(
        lagGuard,
        chainHead,
        sender.assets,
        { signer: EvmAddress.checksum(from), rpcTimeoutMillis: options.rpcTimeoutMillis },
        options.routes
      )),
    inventory:
      options.inventory &&
      (yield* InventorySettings.make(
        rpc,
        {
          network: sender.network,
          assets: sender.assets,
          rpcTimeoutMillis: options.rpcTimeoutMillis,
          prove: EvmChainCheck.asset
        },
        options.inventory
      ))
  }
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
  yield* ContractDeployment.prove(rpc, GuardContract.contract, GuardContract.address)
  for (const { address, version } of served) {
    if ((yield* rpc.getCode(address)) === "0x") {
      return yield* wrong(
        `userOperations: ${rpc.network} has no EntryPoint ${version} at ${EvmAddress.checksum(address)}`
      )
    }
  }
  const entryPoints = new Set(served.map(({ address }) => address))
  const delegations = given.delegations === "known" ? delegating : undefined
  const needsGuard = contractPayers === "any"
  return { entryPoints, minimumAmount, needsGuard, beneficiary, counterfactual, delegations }
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
  contract: OwnContract,
  given: string | undefined
) {
  if (given === undefined) return undefined
  const address = EvmAddress.fromText(given)
  if (address === undefined) return yield* wrong(`batches.${name}: "${given}" is not an address`)
  yield* ContractDeployment.prove(rpc, contract, address)
  return address
})

const inRange = (name: string, value: number, least: number, most: number) =>
  Number.isSafeInteger(value) && value >= least && value <= most
    ? Effect.void
    : wrong(`${name} ${value} is not an integer between ${least} and ${most}`)

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: ${what}` }))
