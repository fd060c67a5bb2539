/**
 * Hands signed bytes to a node, and reads its answer for what it is worth. None of a node's refusals is proof: the bytes
 * are public, any other node may take them until they expire. Each of them is about one payer's transaction, so none is
 * `Refused`, which stops the whole lane, unless the node takes nothing from anybody.
 */
import type { ChainUnavailable, SubmitResult } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Broadcast, TronRpc } from "../node/TronRpc.ts"

/** The node is busy or alone: it takes nothing from anybody now. The same bytes are sent again later. */
const busy = new Set(["SERVER_BUSY", "NO_CONNECTION", "NOT_ENOUGH_EFFECTIVE_CONNECTION", "BLOCK_UNSOLIDIFIED"])

/**
 * What a node's answer means.
 *
 * - `DUP_TRANSACTION_ERROR` says that the node knows the id, and no more: with its cache on a node remembers an id before it
 *   validates, so it may hide a refusal, and a payer can make a public node say it by sending the same raw data with a bad
 *   signature.
 * - The refusals of these bytes (`SIGERROR`, `TAPOS_ERROR`, `TRANSACTION_EXPIRATION_ERROR`, `BANDWITH_ERROR`,
 *   `CONTRACT_VALIDATE_ERROR`, ...) leave the payment where it is until it settles otherwise or is proven unused.
 */
export const toSubmission = ({ code, message }: Broadcast): SubmitResult => {
  if (code === "SUCCESS") return { _tag: "Accepted" }
  if (code === "DUP_TRANSACTION_ERROR") return { _tag: "Known" }
  return { _tag: busy.has(code) ? "Refused" : "Outdated", message: `${code}: ${message}` }
}

/** Sends. */
export const submit = (rpc: TronRpc, id: string, signedHex: string): Effect.Effect<SubmitResult, ChainUnavailable> =>
  Effect.map(rpc.broadcast(id, signedHex), toSubmission)
