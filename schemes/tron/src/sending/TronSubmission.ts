/**
 * Submits signed bytes to a node and interprets its response. A node's rejection proves nothing: the bytes are public, and any
 * other node may accept them until they expire. Most rejections concern one payer's transaction; only those of a node that
 * accepts no transaction at all become `Refused`, which stops the whole lane.
 */
import type { ChainUnavailable, SubmitResult } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Broadcast, TronRpc } from "../node/TronRpc.ts"

/** Codes of a node that is busy or isolated and accepts no transaction now. The same bytes are submitted again later. */
const busy = new Set(["SERVER_BUSY", "NO_CONNECTION", "NOT_ENOUGH_EFFECTIVE_CONNECTION", "BLOCK_UNSOLIDIFIED"])

/**
 * Interprets a node's response to a broadcast.
 *
 * - `DUP_TRANSACTION_ERROR` means only that the node knows the id. With its cache on, a node remembers an id before it validates, so
 *   the code may hide a rejection; a payer can provoke it at a public node by sending the same raw data with a bad signature.
 * - Rejections of these bytes (`SIGERROR`, `TAPOS_ERROR`, `TRANSACTION_EXPIRATION_ERROR`, `BANDWITH_ERROR`,
 *   `CONTRACT_VALIDATE_ERROR`, ...) leave the payment pending until it settles by other means or is proven unused.
 */
export const toResult = ({ code, message }: Broadcast): SubmitResult => {
  if (code === "SUCCESS") return { _tag: "Accepted" }
  if (code === "DUP_TRANSACTION_ERROR") return { _tag: "Known" }
  return { _tag: busy.has(code) ? "Refused" : "Outdated", message: `${code}: ${message}` }
}

/** Submits signed bytes. */
export const submit = (rpc: TronRpc, id: string, signedHex: string): Effect.Effect<SubmitResult, ChainUnavailable> =>
  Effect.map(rpc.broadcast(id, signedHex), toResult)
