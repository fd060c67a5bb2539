/**
 * One transaction for several payments: EIP-3009 transfers of plain accounts by the contract `BatchSettler`, user operations by
 * the contract `OpSettler`, which settles transfers before them where there are both, and transfers by Permit2 by the contract
 * `PermitSettler`, which calls the others first.
 */
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as BatchSettling from "./BatchSettling.ts"
import * as OperationSettling from "./OperationSettling.ts"
import * as PermitSettling from "./PermitSettling.ts"

/** The contracts that settle several payments at once; `undefined` for one that is not configured. */
export interface Settlers {
  readonly transfers: EvmAddress.Address | undefined
  readonly operations: EvmAddress.Address | undefined
  readonly permits: EvmAddress.Address | undefined
}

/** The call of a payment, as far as it is batched. */
type BatchedCall = Pick<TransferCall, "plain" | "operation" | "permit">

/** Whether a payment shares its transaction with others. */
export const isBatched = (settlers: Settlers, { operation, permit, plain }: BatchedCall): boolean => {
  if (plain !== undefined) return settlers.transfers !== undefined
  if (permit !== undefined) return settlers.permits !== undefined
  return operation !== undefined && settlers.operations !== undefined
}

const parted = (calls: ReadonlyArray<BatchedCall>) => ({
  transfers: calls.flatMap(({ plain }) => plain ?? []),
  permits: calls.flatMap(({ permit }) => permit ?? []),
  operations: calls.flatMap(({ operation, plain }) => (plain === undefined && operation ? [operation] : []))
})

/** The most gas that payments can use together in one transaction. */
export const gasOf = (calls: ReadonlyArray<BatchedCall>): bigint => {
  const { operations, permits, transfers } = parted(calls)
  const hasOthers = operations.length + transfers.length > 0
  const others =
    operations.length === 0 ? BatchSettling.gasOf(transfers) : OperationSettling.gasOf(transfers, operations)
  return permits.length === 0 ? others : PermitSettling.gasOf(permits, hasOthers ? others : 0n)
}

/** The call that settles payments together in one transaction; each {@link isBatched}. */
export const toCall = (settlers: Settlers, calls: ReadonlyArray<BatchedCall>): PermitSettling.OtherCall => {
  const { operations, permits, transfers } = parted(calls)
  const others = () =>
    settlers.operations === undefined || operations.length === 0
      ? BatchSettling.toCall(settlers.transfers ?? EvmAddress.zero, transfers)
      : OperationSettling.toCall(settlers.operations, settlers.transfers, transfers, operations)
  if (settlers.permits === undefined || permits.length === 0) return others()
  return PermitSettling.toCall(
    settlers.permits,
    permits,
    operations.length + transfers.length === 0 ? undefined : others()
  )
}
