/**
 * Which payers have a payment on its way here. A wallet takes one request at a time: a second one signed with the same
 * number would burn gas and pay nothing, so it is refused until the first is over.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TonAuthorization } from "../payment/TonAuthorization.ts"

/** The payers. */
export interface PayersInFlight {
  /** Notes that this payment is on its way; `false` when another of the same payer is. */
  readonly take: (authorization: TonAuthorization) => Effect.Effect<boolean>
  /** Whether another payment of the same payer is on its way. */
  readonly isTaken: (authorization: TonAuthorization) => Effect.Effect<boolean>
  /** The payment is over. */
  readonly free: (authorization: TonAuthorization) => Effect.Effect<void>
}

/** After its validity a payment is over, whatever became of it; seconds for clocks that differ. */
const patience = 60

/** Knows of nobody yet. */
export const make = (): PayersInFlight => {
  const flying = new Map<string, { readonly nonce: string; readonly until: number }>()
  const otherOf = (payer: string, nonce: string) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const known = flying.get(payer)
      if (known !== undefined && known.until * 1000 <= now) flying.delete(payer)
      return known !== undefined && known.until * 1000 > now && known.nonce !== nonce
    })
  /** Payments whose end was seen by another process, or by none: two of them go for each that comes, so they never pile up. */
  const forgetOver = Effect.map(Clock.currentTimeMillis, (now) => {
    let looks = 2
    for (const [payer, { until }] of flying) {
      if (looks-- === 0 || until * 1000 > now) return
      flying.delete(payer)
    }
  })
  return {
    isTaken: ({ nonce, payer }) => otherOf(payer, nonce),
    take: ({ nonce, payer, request }) =>
      Effect.map(Effect.tap(otherOf(payer, nonce), forgetOver), (isOther) => {
        if (isOther) return false
        flying.delete(payer)
        flying.set(payer, { nonce, until: request.validUntil + patience })
        return true
      }),
    free: ({ nonce, payer }) =>
      Effect.sync(() => {
        if (flying.get(payer)?.nonce === nonce) flying.delete(payer)
      })
  }
}
