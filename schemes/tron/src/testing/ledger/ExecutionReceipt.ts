/**
 * What executing a transaction came to: what it cost, and for contracts how the call ended and what it logged.
 */
import type { TvmEnding, TvmLog } from "../machine/Tvm.ts"

/** A receipt. Fees in sun. */
export interface ExecutionReceipt {
  /** Everything the owner paid. */
  readonly fee: bigint
  readonly netUsage: bigint
  readonly netFee: bigint
  /** For contracts alone. */
  readonly call?: CallReceipt
}

/** The part of a receipt that tells of a contract. */
export interface CallReceipt {
  readonly contract: string
  readonly ending: TvmEnding
  readonly output: string
  readonly logs: ReadonlyArray<TvmLog>
  /** Energy out of stake. */
  readonly energyUsage: bigint
  /** Sun burnt for the rest. */
  readonly energyFee: bigint
  /** All energy, the penalty included. */
  readonly energyTotal: bigint
  readonly energyPenalty: bigint
}

/** What java-tron says of a call that failed. */
const failures: Readonly<Partial<Record<TvmEnding, string>>> = {
  REVERT: "REVERT opcode executed",
  OUT_OF_ENERGY: "Not enough energy for 'SSTORE' operation executing",
  ILLEGAL_OPERATION: "Invalid operation code",
  BAD_JUMP_DESTINATION: "Operation with pc isn't 'JUMPDEST'"
}

/** The message of a call that failed; `undefined` for one that did not. */
export const failureOf = (ending: TvmEnding): string | undefined =>
  ending === "SUCCESS" ? undefined : (failures[ending] ?? ending)
