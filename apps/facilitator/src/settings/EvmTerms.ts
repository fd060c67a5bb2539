/**
 * What an operator may set apart from the defaults of `exact` on one EVM network: in an entry of `PONTAGE_EVM`, or by
 * variables of their own where there is one network only.
 */
import { Network } from "@pontage/core"
import { EvmAddress } from "@pontage/evm"
import * as Schema from "effect/Schema"

import { NativeAmount, PositiveAmount, RpcUrl } from "./EnvironmentVariable.ts"

/** `eip155:<chain id>`. */
export const EvmNetworkText = Network.Network.check(Schema.isPattern(/^eip155:[1-9][0-9]*$/))

/** The address of a contract, in a strict form. */
export const ContractAddress = Schema.String.check(Schema.makeFilter((text) => EvmAddress.fromText(text) !== undefined))

/** Which accounts with code may pay. */
export const ContractPayers = Schema.Literals(["known", "any", "none"])

/** The address of an implementation, or the hash of code. */
const KnownImplementation = Schema.String.check(
  Schema.makeFilter((text) => EvmAddress.fromText(text) !== undefined || hash.test(text))
)

const hash = /^0x[0-9a-fA-F]{64}$/

/** Several of these, with commas between. */
export const KnownImplementations = Schema.String.check(
  Schema.makeFilter((text) => text.split(",").every((one) => EvmAddress.fromText(one) !== undefined || hash.test(one)))
)

/** What each number may be. */
export const bounds = {
  /** Blocks. */
  finalityDepth: { minimum: 1, maximum: 100_000 },
  /** Milliseconds. */
  verifyWindowMillis: { minimum: 0, maximum: 1_000 },
  /** Payments in a transaction. */
  batchMaximum: { minimum: 2, maximum: 100 },
  /** Milliseconds. */
  batchWindowMillis: { minimum: 0, maximum: 10_000 },
  /** Milliseconds: a day at most. */
  banMillis: { minimum: 0, maximum: 86_400_000 }
} as const

const within = (range: (typeof bounds)[keyof typeof bounds]) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween(range)))

const terms = {
  maxFeePerGas: Schema.optionalKey(NativeAmount),
  finalityDepth: within(bounds.finalityDepth),
  verifyWindowMillis: within(bounds.verifyWindowMillis),
  contractPayers: Schema.optionalKey(ContractPayers),
  knownImplementations: Schema.optionalKey(Schema.Array(KnownImplementation)),
  lossBudget: Schema.optionalKey(PositiveAmount),
  lossBudgetPerCaller: Schema.optionalKey(PositiveAmount),
  banMillis: within(bounds.banMillis),
  batches: Schema.optionalKey(
    Schema.Struct({
      settler: ContractAddress,
      maximum: within(bounds.batchMaximum),
      maximumCost: Schema.optionalKey(PositiveAmount),
      windowMillis: within(bounds.batchWindowMillis)
    })
  )
}

/** One network of `PONTAGE_EVM`. */
export const EvmChainEntry = Schema.Struct({ rpcUrl: RpcUrl, network: Schema.optionalKey(EvmNetworkText), ...terms })

const Terms = Schema.Struct(terms)

/** The terms of one network. */
export type EvmTerms = typeof Terms.Type

/** The terms as variables of their own say them; `undefined` where one is not set. */
export interface EvmTermVariables {
  readonly PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: bigint | undefined
  readonly PONTAGE_EVM_FINALITY_DEPTH: number | undefined
  readonly PONTAGE_EVM_VERIFY_WINDOW_MS: number | undefined
  readonly PONTAGE_EVM_CONTRACT_PAYERS: typeof ContractPayers.Type | undefined
  readonly PONTAGE_EVM_KNOWN_IMPLEMENTATIONS: string | undefined
  readonly PONTAGE_EVM_LOSS_BUDGET_WEI: bigint | undefined
  readonly PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI: bigint | undefined
  readonly PONTAGE_EVM_BAN_MS: number | undefined
  readonly PONTAGE_EVM_BATCH_SETTLER: string | undefined
  readonly PONTAGE_EVM_BATCH_MAXIMUM: number | undefined
  readonly PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI: bigint | undefined
  readonly PONTAGE_EVM_BATCH_WINDOW_MS: number | undefined
}

/** The terms that the variables say. */
export const fromVariables = (variables: EvmTermVariables): EvmTerms => {
  const {
    PONTAGE_EVM_BAN_MS: banMillis,
    PONTAGE_EVM_BATCH_MAXIMUM: maximum,
    PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI: maximumCost,
    PONTAGE_EVM_BATCH_SETTLER: settler,
    PONTAGE_EVM_BATCH_WINDOW_MS: windowMillis,
    PONTAGE_EVM_CONTRACT_PAYERS: contractPayers,
    PONTAGE_EVM_FINALITY_DEPTH: finalityDepth,
    PONTAGE_EVM_KNOWN_IMPLEMENTATIONS: knownImplementations,
    PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI: lossBudgetPerCaller,
    PONTAGE_EVM_LOSS_BUDGET_WEI: lossBudget,
    PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: maxFeePerGas,
    PONTAGE_EVM_VERIFY_WINDOW_MS: verifyWindowMillis
  } = variables
  return {
    ...(maxFeePerGas !== undefined && { maxFeePerGas }),
    ...(finalityDepth !== undefined && { finalityDepth }),
    ...(verifyWindowMillis !== undefined && { verifyWindowMillis }),
    ...(contractPayers !== undefined && { contractPayers }),
    ...(knownImplementations !== undefined && { knownImplementations: knownImplementations.split(",") }),
    ...(lossBudget !== undefined && { lossBudget }),
    ...(lossBudgetPerCaller !== undefined && { lossBudgetPerCaller }),
    ...(banMillis !== undefined && { banMillis }),
    ...(settler !== undefined && {
      batches: {
        settler,
        ...(maximum !== undefined && { maximum }),
        ...(maximumCost !== undefined && { maximumCost }),
        ...(windowMillis !== undefined && { windowMillis })
      }
    })
  }
}

/** The names of the variables. */
export const variableNames = [
  "PONTAGE_EVM_MAX_FEE_PER_GAS_WEI",
  "PONTAGE_EVM_FINALITY_DEPTH",
  "PONTAGE_EVM_VERIFY_WINDOW_MS",
  "PONTAGE_EVM_CONTRACT_PAYERS",
  "PONTAGE_EVM_KNOWN_IMPLEMENTATIONS",
  "PONTAGE_EVM_LOSS_BUDGET_WEI",
  "PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI",
  "PONTAGE_EVM_BAN_MS",
  "PONTAGE_EVM_BATCH_SETTLER",
  "PONTAGE_EVM_BATCH_MAXIMUM",
  "PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI",
  "PONTAGE_EVM_BATCH_WINDOW_MS"
] as const satisfies ReadonlyArray<keyof EvmTermVariables>

/** Variables about batches that say nothing without the contract. */
export const withoutSettler = (variables: EvmTermVariables): ReadonlyArray<string> =>
  variables.PONTAGE_EVM_BATCH_SETTLER !== undefined
    ? []
    : variableNames.filter((name) => aboutBatches.test(name) && variables[name] !== undefined)

const aboutBatches = /_BATCH_/
