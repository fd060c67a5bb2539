/**
 * The contract `PermitSettler` for the facilitator: the call that settles many transfers by Permit2, and what other settlers settle
 * before them.
 */
import { PermitSettler } from "../artifacts/PermitSettler.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type { UnsignedTransaction } from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"
import * as PackedTransfers from "../transfer/PackedTransfers.ts"

/** The contract. */
export const contract: OwnContract = {
  name: "permit settler",
  deployedBy: "deployPermitSettler",
  artifact: PermitSettler
}

/** settle(address,bytes,bytes) */
const selector = "0xd2f934ea"

/** Gas for the transaction and the contract's fixed work. */
const gasBase = 40_000n
/** Gas that the contract reserves for an entry, 219 000, and at most costs for its 158 bytes, 2 528. */
const gasPerEntry = 221_528n
/** Gas for each change of the token: its bytes, and the first call to it. */
const gasPerRun = 3_500n

/** The call of another settler. */
export type OtherCall = Pick<UnsignedTransaction, "to" | "data" | "gas">

/**
 * The most gas that transfers can use together in one transaction, behind a call that uses `otherGas`: it covers every entry's cap. A
 * call keeps back the 64th part of its gas.
 */
export const gasOf = (transfers: ReadonlyArray<PackedTransfers.PlainTransfer>, otherGas: bigint): bigint =>
  gasBase +
  BigInt(transfers.length) * gasPerEntry +
  BigInt(PackedTransfers.runCount(transfers)) * gasPerRun +
  (otherGas * 64n) / 63n

/** The call that settles transfers, together in one transaction, behind another settler's call. */
export const toCall = (
  settler: EvmAddress.Address,
  transfers: ReadonlyArray<PackedTransfers.PlainTransfer>,
  other: OtherCall | undefined
): OtherCall => ({
  to: settler,
  data: `${selector}${AbiEncoding.parameters([
    AbiEncoding.address(other === undefined ? EvmAddress.zero : EvmAddress.fromTail(other.to)),
    AbiEncoding.bytes(EvmHex.fromTrusted(other?.data ?? "0x")),
    AbiEncoding.bytes(PackedTransfers.pack(transfers).runs)
  ])}`,
  gas: gasOf(transfers, other?.gas ?? 0n)
})
