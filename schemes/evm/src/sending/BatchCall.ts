/**
 * One transaction for several payments: EIP-3009 transfers of plain accounts by the contract `BatchSettler`, and user operations by
 * the contract `OpSettler`, which settles transfers before them where there are both.
 */
import type { UnsignedTransaction } from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as BatchSettling from "./BatchSettling.ts"
import * as OperationSettling from "./OperationSettling.ts"

/** The contracts that settle several payments at once; `undefined` for one that is not configured. */
export interface Settlers {
  readonly transfers: EvmAddress.Address | undefined
  readonly operations: EvmAddress.Address | undefined
}

/** The call of a payment, as far as it is batched. */
type BatchedCall = Pick<TransferCall, "plain" | "operation">

/** Whether a payment shares its transaction with others. */
export const isBatched = ({ operations, transfers }: Settlers, { operation, plain }: BatchedCall): boolean =>
  plain === undefined ? operation !== undefined && operations !== undefined : transfers !== undefined

const parted = (calls: ReadonlyArray<BatchedCall>) => ({
  transfers: calls.flatMap(({ plain }) => plain ?? []),
  operations: calls.flatMap(({ operation, plain }) => (plain === undefined && operation ? [operation] : []))
})

/** The most gas that payments can use together in one transaction. */
export const gasOf = (calls: ReadonlyArray<BatchedCall>): bigint => {
  const { operations, transfers } = parted(calls)
  return operations.length === 0 ? BatchSettling.gasOf(transfers) : OperationSettling.gasOf(transfers, operations)
}

/** The call that settles payments together in one transaction; each {@link isBatched}. */
export const toCall = (
  settlers: Settlers,
  calls: ReadonlyArray<BatchedCall>
): Pick<UnsignedTransaction, "to" | "data" | "gas"> => {
  const { operations, transfers } = parted(calls)
  return settlers.operations === undefined || operations.length === 0
    ? BatchSettling.toCall(settlers.transfers ?? EvmAddress.zero, transfers)
    : OperationSettling.toCall(settlers.operations, settlers.transfers, transfers, operations)
}
