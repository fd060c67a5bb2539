/**
 * The rows of a claim with the ids of their channels, which are computed from the channels' terms and never read from a message.
 */
import * as Effect from "effect/Effect"

import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ClaimBatch from "../voucher/ClaimBatch.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"

/** A row, with its channel's id and the terms that the authorizer signs. */
export interface IdentifiedRow {
  readonly row: ClaimBatch.ClaimRow
  readonly entry: ClaimBatch.ClaimEntry
  readonly channelId: EvmHex.Hex
}

/** Identifies rows. A channel stands in a claim once: the sum of a second row would depend on the first. */
export const make = (
  chainId: number,
  rows: ReadonlyArray<ClaimBatch.ClaimRow>
): Effect.Effect<ReadonlyArray<IdentifiedRow>, ChannelRefusal.ChannelRefusal> => {
  const identified = rows.map((row) => {
    const entry = ClaimBatch.entry(chainId, row)
    return { row, entry, channelId: entry.channelId }
  })
  const isRepeated = new Set(identified.map(({ channelId }) => channelId)).size < rows.length
  return rows.length === 0 || isRepeated
    ? Effect.fail(ChannelRefusal.make("claim_payload", "a claim has at least one row, and one row a channel"))
    : Effect.succeed(identified)
}
