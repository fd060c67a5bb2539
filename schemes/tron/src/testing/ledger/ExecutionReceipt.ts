/** Receipts of executed transactions: the cost, and for contracts the call's ending and its logs. */
import type { TvmEnding, TvmLog } from "../machine/Tvm.ts"

/** A receipt. Fees in sun. */
export interface ExecutionReceipt {
  /** Total that the owner paid. */
  readonly fee: bigint
  readonly netUsage: bigint
  readonly netFee: bigint
  /** For contracts only. */
  readonly call?: CallReceipt
}

/** The part of a receipt about a contract's call. */
export interface CallReceipt {
  readonly contract: string
  readonly ending: TvmEnding
  readonly output: string
  readonly logs: ReadonlyArray<TvmLog>
  /** Energy from stake. */
  readonly energyUsage: bigint
  /** Sun burnt for the rest. */
  readonly energyFee: bigint
  /** All energy, with the penalty. */
  readonly energyTotal: bigint
  readonly energyPenalty: bigint
}

/** Java-tron's messages for failed calls. */
const failures: Readonly<Partial<Record<TvmEnding, string>>> = {
  REVERT: "REVERT opcode executed",
  OUT_OF_ENERGY: "Not enough energy for 'SSTORE' operation executing",
  ILLEGAL_OPERATION: "Invalid operation code",
  BAD_JUMP_DESTINATION: "Operation with pc isn't 'JUMPDEST'"
}

/** The message of a failed call; `undefined` for a successful one. */
export const failureOf = (ending: TvmEnding): string | undefined =>
  ending === "SUCCESS" ? undefined : (failures[ending] ?? ending)
