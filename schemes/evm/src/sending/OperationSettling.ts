/**
 * The contract `OpSettler` for the facilitator: the call that submits many user operations, and EIP-3009 transfers before them.
 */
import { OpSettler } from "../artifacts/OpSettler.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type { UnsignedTransaction } from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import * as PackedOperations from "../transfer/PackedOperations.ts"
import * as PackedTransfers from "../transfer/PackedTransfers.ts"
import * as BatchSettling from "./BatchSettling.ts"

/** The contract. */
export const contract: OwnContract = {
  name: "operation settler",
  deployedBy: "deployOpSettler",
  artifact: OpSettler
}

/** settle(address,address,bytes,bytes) */
const selector = "0x8edfeaea"

/** Gas for the transaction and the contract's fixed work. */
const gasBase = 40_000n
/** Gas for each EntryPoint: its bytes, and the first call to it. */
const gasPerRun = 3_500n

/** The most gas that the payments use together: it covers the cap of each, so that none can use up the gas of another. */
export const gasOf = (
  transfers: ReadonlyArray<PackedTransfers.PlainTransfer>,
  operations: ReadonlyArray<PackedOperations.BatchedOperation>
): bigint =>
  operations.reduce((sum, one) => sum + PackedOperations.gasOf(one), gasBase) +
  gasPerRun * BigInt(new Set(operations.map(({ entryPoint }) => entryPoint.address)).size) +
  gasOfTransfers(transfers)

/** The call that submits operations, together in one transaction, after the transfers that the batch settler settles. */
export const toCall = (
  settler: EvmAddress.Address,
  batchSettler: EvmAddress.Address | undefined,
  transfers: ReadonlyArray<PackedTransfers.PlainTransfer>,
  operations: ReadonlyArray<PackedOperations.BatchedOperation>
): Pick<UnsignedTransaction, "to" | "data" | "gas"> => ({
  to: settler,
  data: `${selector}${AbiEncoding.parameters([
    AbiEncoding.address(batchSettler ?? EvmAddress.zero),
    AbiEncoding.address(GuardContract.address),
    AbiEncoding.bytes(PackedTransfers.pack(transfers).runs),
    AbiEncoding.bytes(PackedOperations.pack(operations))
  ])}`,
  gas: gasOf(transfers, operations)
})

/** The settler is called by a contract, which keeps the 64th part of its gas. */
const gasOfTransfers = (transfers: ReadonlyArray<PackedTransfers.PlainTransfer>): bigint =>
  transfers.length === 0 ? 0n : (BatchSettling.gasOf(transfers) * 64n) / 63n
