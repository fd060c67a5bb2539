/**
 * The amounts of a top-up, by a facilitator's quote. Over CCTP the issuer takes a part on the way, at most as much as is quoted. And each
 * top-up sends an amount of its own, up to a cent more than it has to, which arrives too: the issuer names a message only when it attests
 * it, so that its bytes alone tell it from an earlier top-up of the same price.
 */
import type { Asset } from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as Effect from "effect/Effect"

import * as IssuerFee from "../route/IssuerFee.ts"
import type { RouteKind } from "../route/RouteRouters.ts"

/** The amounts. */
export interface TopUpAmount {
  /** The amount that is sent over the bridge so that another one arrives. */
  readonly sentFor: (arriving: bigint) => bigint
  /** The largest amount that arrives of one that is sent; zero or less for too little. */
  readonly arrivingOf: (sent: bigint) => bigint
}

/** Draws them for one top-up, in a token of these decimals. */
export const draw = Effect.fnUntraced(function* (
  kind: RouteKind,
  { decimals }: Pick<Asset, "decimals">,
  rate: bigint
): Effect.fn.Return<TopUpAmount> {
  const more = kind === "cctp" ? yield* belowCent(decimals) : 0n
  return {
    sentFor: (arriving) => IssuerFee.sentFor(arriving, rate) + more,
    arrivingOf: (sent) => (sent > more ? IssuerFee.arrivingOf(sent - more, rate) : sent - more)
  }
})

/** An amount of less than a cent. */
const belowCent = Effect.fnUntraced(function* (decimals: number) {
  const { bytes } = yield* Entropy
  const drawn = bytes(8).reduce((number, byte) => number * 256n + BigInt(byte), 0n)
  return drawn % 10n ** BigInt(Math.max(decimals - 2, 0))
})
