/**
 * The newest block that this process has seen. One address may lead to several nodes, and one of them may be behind the others: a
 * refusal by its state is true of an older state, and not a verdict.
 */
import { ChainUnavailable, type PaymentError, type ValidationError } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TronRpc } from "./TronRpc.ts"

/** The verdict on a payment by one reading of the chain, and the head of that reading. */
export interface Judged<A> {
  readonly head: bigint
  readonly verdict:
    | { readonly _tag: "Refused"; readonly error: PaymentError | ValidationError | ChainUnavailable }
    | { readonly _tag: "Good"; readonly found: A }
}

/** A node whose heads are recorded, and the judgement by them. */
export interface TronLagGuard {
  readonly rpc: TronRpc
  /**
   * Judges a payment. Responses about accounts do not name their block, so a refusal counts when two readings refuse, each by a
   * head that is not behind one seen before. Without two such readings the result is `ChainUnavailable`.
   */
  readonly judge: <A, E>(
    read: Effect.Effect<Judged<A>, E>
  ) => Effect.Effect<A, E | PaymentError | ValidationError | ChainUnavailable>
}

/** Time after which a head that no node has shown again is forgotten, in milliseconds. */
const memoryMillis = 60_000
const attempts = 4
const agreeing = 2

/** Records the heads of a node. */
export const make = (node: TronRpc): TronLagGuard => {
  let newest: { readonly number: bigint; readonly at: number } | undefined
  const see = (number: bigint) =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      if (newest === undefined || number >= newest.number || at - newest.at > memoryMillis) newest = { number, at }
    })
  const judge: TronLagGuard["judge"] = Effect.fnUntraced(function* (read) {
    let refusals = 0
    for (let attempt = 0; attempt < attempts; attempt++) {
      const before = newest?.number
      const { head, verdict } = yield* read
      if (verdict._tag === "Good") return verdict.found
      const { error } = verdict
      if (error._tag === "ChainUnavailable") return yield* error
      if (before !== undefined && head < before) continue
      if (++refusals === agreeing) return yield* error
    }
    const message = `the nodes of ${node.network} that respond are behind a block that was seen before`
    return yield* new ChainUnavailable({ network: node.network, message })
  })
  return { rpc: { ...node, head: Effect.tap(node.head, ({ number }) => see(number)) }, judge }
}
