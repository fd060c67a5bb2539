/**
 * Finds the transaction of the relayer's wallet that carried a relayer's external message out. The masterchain reverts
 * nothing, so an inclusion is searched for once.
 */
import { type Block, ChainUnavailable, type Inclusion, type PreparedTransaction } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import * as TonTransaction from "../node/TonTransaction.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonRelayer from "../sending/TonRelayer.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import * as TonHistory from "./TonHistory.ts"

/** The relayer's transaction in a slot, and its place in a block. */
export interface TonInclusion {
  readonly lane: TonAddress.Address
  readonly inclusion: Inclusion
  readonly transaction: TonTransaction.TonTransaction
}

/** Inclusions by the hash of the external message. */
export interface TonInclusions {
  /** The inclusion of one of these attempts; `undefined` while none is included. */
  readonly find: (
    attempts: ReadonlyArray<PreparedTransaction>
  ) => Effect.Effect<TonInclusion | undefined, ChainUnavailable>
}

/** Requests for a relayer's own history: more than for others, since each payment leaves a transaction in it. */
const ownPages = 400
/** Seconds that a relayer's transaction may be older than the end of its message's validity. */
const oldest = 600
/** Inclusions that are remembered. */
const capacity = 1_000

/** The masterchain block of a transaction, by its logical time. */
export const blockOf = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  { lt }: TonTransaction.TonTransaction
): Effect.fn.Return<Block, ChainUnavailable> {
  const block = yield* rpc.blockAt(lt)
  if (block !== undefined) return block
  const message = `the node knows no block of the logical time ${lt}`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})

/** Remembers the inclusions found; none at first. */
export const make = (rpc: TonRpc.TonRpc): TonInclusions => {
  const known = BoundedMap.oldestOut<string, TonInclusion>(capacity)
  return {
    find: Effect.fnUntraced(function* (attempts) {
      const earlier = attempts.map(({ transaction }) => known.get(transaction)).find((one) => one !== undefined)
      if (earlier !== undefined) return earlier
      const found = yield* find(rpc, attempts)
      if (found === undefined) return undefined
      known.set(found.inclusion.transaction, found)
      return found
    })
  }
}

/** Searches the relayer's history once its wallet has used the slot's number: before that no attempt is included. */
const find = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TonInclusion | undefined, ChainUnavailable> {
  const [first] = attempts
  const lane = first?.slot && TonAddress.fromText(first.slot.lane)
  if (first?.slot === undefined || lane === undefined) return undefined
  const { code, data, last } = yield* rpc.account(lane)
  const wallet = code && data && TonWallet.read(code, data)
  if (wallet === undefined || BigInt(wallet.seqno) <= first.slot.number) return undefined
  const hashes = new Set(attempts.map(({ transaction }) => transaction))
  const earliest =
    Math.min(...attempts.map(({ bytes }) => TonRelayer.validUntil(bytes.split(",").at(-1) ?? ""))) - oldest
  const isOurs = (one: TonTransaction.TonTransaction) =>
    one.cause?.isExternal === true && hashes.has(TonTransaction.originOf(lane, one))
  const found = yield* TonHistory.search(rpc, lane, last, earliest, isOurs, ownPages)
  if (found._tag === "Unfinished") return yield* TonHistory.unfinished(rpc, lane)
  if (found._tag === "Absent") return undefined
  const { transaction } = found
  const block = yield* blockOf(rpc, transaction)
  const inclusion = { transaction: TonTransaction.originOf(lane, transaction), block, cost: transaction.cost }
  return { lane, inclusion, transaction }
})
