/**
 * Where a relayer's external message landed: the transaction of the relayer's wallet that carried it out. The masterchain
 * takes nothing back, so that a landing is looked for once.
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

/** The relayer's transaction of a slot. */
export interface TonLanding {
  readonly lane: TonAddress.Address
  readonly inclusion: Inclusion
  readonly transaction: TonTransaction.TonTransaction
}

/** Landings by the hash of the external message. */
export interface TonLandings {
  /** Where one of these attempts landed; `undefined` while none did. */
  readonly find: (
    attempts: ReadonlyArray<PreparedTransaction>
  ) => Effect.Effect<TonLanding | undefined, ChainUnavailable>
}

/** A relayer's own history is worth more questions: each payment leaves a transaction in it. */
const ownPages = 400
/** Seconds that a relayer's message may be older than its validity says. */
const oldest = 600
/** So many landings are remembered. */
const capacity = 1_000

/** The block of a transaction: the masterchain's at its time. */
export const blockOf = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  { lt }: TonTransaction.TonTransaction
): Effect.fn.Return<Block, ChainUnavailable> {
  const block = yield* rpc.blockAt(lt)
  if (block !== undefined) return block
  return yield* new ChainUnavailable({ network: rpc.network, message: `the node knows no block of the time ${lt}` })
})

/** Knows of none yet. */
export const make = (rpc: TonRpc.Shape): TonLandings => {
  const known = BoundedMap.oldestOut<string, TonLanding>(capacity)
  return {
    find: Effect.fnUntraced(function* (attempts) {
      const earlier = attempts.map(({ transaction }) => known.get(transaction)).find((one) => one !== undefined)
      if (earlier !== undefined) return earlier
      const landing = yield* find(rpc, attempts)
      if (landing === undefined) return undefined
      known.set(landing.inclusion.transaction, landing)
      return landing
    })
  }
}

/** A number that is not used was used by none of ours. */
const find = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TonLanding | undefined, ChainUnavailable> {
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
