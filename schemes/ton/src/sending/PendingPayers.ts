/**
 * Payers with a pending payment at this facilitator. A wallet takes one request at a time: a second one signed with the same
 * number would burn gas and pay nothing, so it is refused until the first has ended. One with a later number is not: it is
 * verified first, and its number is the wallet's own only once the wallet has used the number before it.
 */
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TonAuthorization } from "../payment/TonAuthorization.ts"

/** Payers with a pending payment. */
export interface PendingPayers {
  /** Marks this payment as pending unless it has ended; `false` when another one of the same payer with no earlier number is pending. */
  readonly take: (authorization: TonAuthorization) => Effect.Effect<boolean>
  /** Whether another payment of the same payer with no earlier number is pending. */
  readonly isTaken: (authorization: TonAuthorization) => Effect.Effect<boolean>
  /** Ends this payment's claim to its payer for good: the masterchain reverts nothing. */
  readonly release: (authorization: TonAuthorization) => Effect.Effect<void>
  /** Frees the payer of a payment that was not sent: the payment may be taken again. */
  readonly putBack: (authorization: TonAuthorization) => Effect.Effect<void>
}

/** Seconds after its validity at which a payment has ended in any case; clocks may differ by them. */
const graceSeconds = 60

/** Ended payments that are remembered. */
const capacity = 10_000

/** No payer at first. */
export const make = (): PendingPayers => {
  const pending = new Map<string, { readonly nonce: string; readonly seqno: number; readonly until: number }>()
  // A settled payment is observed again until it is final. Its payer has a new number by then, and may pay with it.
  const ended = BoundedMap.oldestOut<string, true>(capacity)
  const isBehind = ({ nonce, payer, request: { seqno } }: TonAuthorization) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const known = pending.get(payer)
      if (known !== undefined && known.until * 1000 <= now) pending.delete(payer)
      return known !== undefined && known.until * 1000 > now && known.nonce !== nonce && known.seqno >= seqno
    })
  /**
   * Forgets payments that have expired, whose ends another process saw, or none: up to two for each new payment, so they do
   * not accumulate.
   */
  const forgetExpired = Effect.map(Clock.currentTimeMillis, (now) => {
    let left = 2
    for (const [payer, { until }] of pending) {
      if (left-- === 0 || until * 1000 > now) return
      pending.delete(payer)
    }
  })
  const free = ({ nonce, payer }: TonAuthorization) => {
    if (pending.get(payer)?.nonce === nonce) pending.delete(payer)
  }
  return {
    isTaken: isBehind,
    take: (authorization) =>
      Effect.map(Effect.tap(isBehind(authorization), forgetExpired), (isTaken) => {
        if (isTaken) return false
        const { nonce, payer, request } = authorization
        if (ended.get(nonce) === true) return true
        pending.delete(payer)
        pending.set(payer, { nonce, seqno: request.seqno, until: request.validUntil + graceSeconds })
        return true
      }),
    release: (authorization) =>
      Effect.sync(() => {
        ended.set(authorization.nonce, true)
        free(authorization)
      }),
    putBack: (authorization) => Effect.sync(() => free(authorization))
  }
}
