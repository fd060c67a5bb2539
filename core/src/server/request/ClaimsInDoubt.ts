/**
 * The claims of this process whose asking ended without an answer. Nobody runs anything under them, and only this process
 * can know that: the facilitator may have granted one, and would keep everybody waiting until its lease has lapsed. The next
 * request with the same payment names them, and takes over what they hold (`Claim.resumes`).
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Claim, PaymentRequest } from "../../facilitator/Facilitator.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { maximumResumed } from "../../wire/pontage/FacilitatorApi.ts"
import * as KeyedDigest from "../shop/KeyedDigest.ts"

/** A payment, and the claim with which the facilitator was asked for it. */
export interface SentClaim {
  readonly request: PaymentRequest
  readonly claim: Claim
}

/**
 * The claims, by payment. A payment shown for another resource, or by somebody who does not know its offer's token, is
 * another one.
 */
export interface ClaimsInDoubt {
  /** The same asking, with the claims of the payment that are in doubt. */
  readonly resuming: <A extends SentClaim>(sent: A) => Effect.Effect<A>
  readonly note: (sent: SentClaim) => Effect.Effect<void>
  /** The run was granted: what earlier claims held is this one's. */
  readonly forget: (sent: SentClaim) => Effect.Effect<void>
}

/** So many payments at once; the oldest goes first, and then waits for a lease. */
const capacity = 4_096

/** As long as a payment may be repeated: its validity, and ten minutes in which a run that failed is owed. */
const lifetimeMillis = 900_000

interface Doubt {
  readonly ids: ReadonlyArray<string>
  readonly until: number
}

/** No claims. */
export const make = (signer: KeyedDigest.Keyed, clock: Clock.Clock): ClaimsInDoubt => {
  const doubts = new Map<string, Doubt>()
  const keyOf = ({ claim, request: { paymentPayload, paymentRequirements } }: SentClaim) =>
    KeyedDigest.make(signer, [
      "claim in doubt",
      claim.resource,
      paymentPayload.scheme,
      paymentRequirements.network,
      paymentPayload.payload,
      RetryToken.of(paymentRequirements.extra) ?? null
    ])
  const makePlace = (now: number) => {
    for (const [key, { until }] of doubts) {
      if (doubts.size < capacity && now < until) return
      doubts.delete(key)
    }
  }
  return {
    resuming: (sent) =>
      // Usually nothing is in doubt, and no name has to be made.
      doubts.size === 0
        ? Effect.succeed(sent)
        : Effect.map(keyOf(sent), (key) => {
            const ids = doubts.get(key)?.ids ?? []
            return ids.length === 0 ? sent : { ...sent, claim: { ...sent.claim, resumes: ids } }
          }),
    note: (sent) =>
      Effect.map(keyOf(sent), (key) => {
        const now = clock.currentTimeMillisUnsafe()
        const known = doubts.get(key)?.ids ?? []
        doubts.delete(key)
        makePlace(now)
        doubts.set(key, { ids: withLatest(known, sent.claim.id), until: now + lifetimeMillis })
      }),
    forget: (sent) => (doubts.size === 0 ? Effect.void : Effect.map(keyOf(sent), (key) => void doubts.delete(key)))
  }
}

/** Where there are too many, one that holds the run is likelier the first than any between: later ones may never have arrived. */
const withLatest = (known: ReadonlyArray<string>, id: string): ReadonlyArray<string> => {
  if (known.includes(id)) return known
  return known.length < maximumResumed ? [...known, id] : [...known.slice(0, 1), ...known.slice(2), id]
}
