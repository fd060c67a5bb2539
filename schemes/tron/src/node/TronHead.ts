/**
 * The newest block that this process has seen. Behind one address there may be several nodes, and one of them may be behind its
 * fellows: what it says against a payment is true of an older state, and no verdict.
 */
import { ChainUnavailable, type PaymentError, type ValidationError } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TronRpc } from "./TronRpc.ts"

/** What one look at the chain says of a payment, and the head that it saw: why it is refused, or what was found. */
export interface Judged<A> {
  readonly head: bigint
  readonly verdict:
    | { readonly _tag: "Refused"; readonly error: PaymentError | ValidationError | ChainUnavailable }
    | { readonly _tag: "Good"; readonly found: A }
}

/** A node whose heads are watched, and the way to judge by it. */
export interface TronHead {
  readonly rpc: TronRpc
  /**
   * Judges a payment. Answers about accounts do not tell their block: a refusal counts when two looks in all agree on refusing, each
   * of a head that is not behind what was seen before. Where no such look is to be had it is `ChainUnavailable`.
   */
  readonly judge: <A, E>(
    look: Effect.Effect<Judged<A>, E>
  ) => Effect.Effect<A, E | PaymentError | ValidationError | ChainUnavailable>
}

/** A head that no node has shown again for so long (milliseconds) never was. */
const memoryMillis = 60_000
const attempts = 4
const agreeing = 2

/** Watches a node. */
export const make = (node: TronRpc): TronHead => {
  let newest: { readonly number: bigint; readonly at: number } | undefined
  const see = (number: bigint) =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      if (newest === undefined || number >= newest.number || at - newest.at > memoryMillis) newest = { number, at }
    })
  const judge: TronHead["judge"] = Effect.fnUntraced(function* (look) {
    let refusals = 0
    for (let attempt = 0; attempt < attempts; attempt++) {
      const before = newest?.number
      const { head, verdict } = yield* look
      if (verdict._tag === "Good") return verdict.found
      const { error } = verdict
      if (error._tag === "ChainUnavailable") return yield* error
      if (before !== undefined && head < before) continue
      if (++refusals === agreeing) return yield* error
    }
    const message = `the nodes of ${node.network} that answer are behind a block that was seen before`
    return yield* new ChainUnavailable({ network: node.network, message })
  })
  return { rpc: { ...node, head: Effect.tap(node.head, ({ number }) => see(number)) }, judge }
}
