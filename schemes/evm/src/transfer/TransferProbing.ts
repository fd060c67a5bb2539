/**
 * Many transfers tried in one simulated call: the init code of the contract `TransferProbe`, which is never deployed, tries
 * each under its own gas cap and returns the outcomes. An uncertain outcome is `undefined`, and the transfer has to be tried
 * alone.
 */
import { TransferProbe } from "../artifacts/TransferProbe.ts"
import type { CallOutcome } from "../node/EvmNodeError.ts"
import type { Call } from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as PackedTransfers from "./PackedTransfers.ts"

/** Gas for the transaction, and the init code itself. */
const gasBase = 150_000n
/** Gas for the entry's cap and the 64th part a call leaves behind (126 000), its calldata (2 500) and a full-length result (53 000). */
const gasPerEntry = 190_000n

/** The call that tries transfers. It has no recipient: its data runs as init code. */
export const toCall = (transfers: ReadonlyArray<PackedTransfers.PlainTransfer>): Pick<Call, "data" | "gas"> => {
  const { entries, runs } = PackedTransfers.pack(transfers)
  return {
    data: `${TransferProbe.bytecode}${PackedTransfers.toArgument(runs)}`,
    gas: gasBase + BigInt(entries) * gasPerEntry
  }
}

/** The outcome of a tried transfer. A transfer whose payer `HasCode` was not tried. */
export type ProbeOutcome = CallOutcome | { readonly _tag: "HasCode" }

/** Outcomes of one byte. */
const short: Readonly<Record<number, ProbeOutcome>> = { 1: { _tag: "Returned", data: "0x" }, 2: { _tag: "HasCode" } }

/**
 * Reads the outcomes. A failure without a reason, or with a longer one than the probe copies, is `undefined`; so are all
 * outcomes when their number is not `entries`.
 */
export const fromResult = (data: EvmHex.Hex, entries: number): ReadonlyArray<ProbeOutcome | undefined> => {
  const outcomes: Array<ProbeOutcome | undefined> = []
  const bytes = EvmHex.toBytes(data)
  let offset = 0
  while (offset < bytes.length && outcomes.length < entries) {
    const known = short[bytes[offset] ?? 0]
    if (known !== undefined) {
      outcomes.push(known)
      offset += 1
      continue
    }
    const length = ((bytes[offset + 1] ?? 0) << 8) | (bytes[offset + 2] ?? 0)
    const reason = bytes.subarray(offset + 3, offset + 3 + length)
    outcomes.push(length === 0 ? undefined : { _tag: "Reverted", data: EvmHex.fromBytes(reason), message: "" })
    offset += 3 + length
  }
  const isWhole = offset === bytes.length && outcomes.length === entries
  return isWhole ? outcomes : Array.from({ length: entries }, () => undefined)
}
