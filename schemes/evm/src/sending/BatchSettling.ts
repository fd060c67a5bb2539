/**
 * The contract `BatchSettler` for the facilitator: the call that settles many transfers.
 */
import { BatchSettler } from "../artifacts/BatchSettler.ts"
import type { UnsignedTransaction } from "../primitives/Eip1559.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"
import * as PackedTransfers from "../transfer/PackedTransfers.ts"

/** The contract. */
export const contract: OwnContract = {
  name: "batch settler",
  deployedBy: "deployBatchSettler",
  artifact: BatchSettler
}

/** settle(bytes) */
const selector = "0xd0322fbf"

/** Gas for the transaction and the contract's fixed work. */
const gasBase = 30_000n
/** Gas that the contract reserves for an entry, 156 000, and at most costs for its 158 bytes, 2 528. */
const gasPerEntry = 158_528n
/** Gas for each change of the token: its bytes, and the first call to it. */
const gasPerRun = 3_500n

/**
 * The most gas that transfers can use together in one transaction: it covers every entry's cap, so that no entry can use up
 * the gas of another.
 */
export const gasOf = (transfers: ReadonlyArray<PackedTransfers.PlainTransfer>): bigint =>
  gasBase + BigInt(transfers.length) * gasPerEntry + BigInt(PackedTransfers.runCount(transfers)) * gasPerRun

/** The call that settles transfers, together in one transaction. */
export const toCall = (
  settler: EvmAddress.Address,
  transfers: ReadonlyArray<PackedTransfers.PlainTransfer>
): Pick<UnsignedTransaction, "to" | "data" | "gas"> => ({
  to: settler,
  data: `${selector}${PackedTransfers.toArgument(PackedTransfers.pack(transfers).runs)}`,
  gas: gasOf(transfers)
})
