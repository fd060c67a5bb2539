/**
 * The claims of this process whose request to the facilitator ended without a response. Nothing runs under them, and
 * only this process can know that: the facilitator may have granted one, and would make every repeat wait until its
 * lease has lapsed. The next request with the same payment names them, and takes over their execution
 * (`Claim.resumes`).
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Claim, PaymentRequest } from "../../facilitator/Facilitator.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { maximumResumed } from "../../wire/pontage/FacilitatorApi.ts"
import * as KeyedDigest from "../shop/KeyedDigest.ts"

/** A payment, and the claim that was sent for it. */
export interface SentClaim {
  readonly request: PaymentRequest
  readonly claim: Claim
}

/**
 * The claims, by payment. A payment shown for another resource, or by a sender who does not know its offer's token,
 * counts as another one.
 */
export interface ClaimsInDoubt {
  /** The same payment with the claims that are in doubt. */
  readonly resuming: <A extends SentClaim>(sent: A) => Effect.Effect<A>
  readonly note: (sent: SentClaim) => Effect.Effect<void>
  /** Forgets a payment whose execution was granted: this claim holds the executions of the earlier ones. */
  readonly forget: (sent: SentClaim) => Effect.Effect<void>
}

/** Limit on remembered payments; the oldest is dropped first, and then waits for a lease. */
const capacity = 4_096

/**
 * Milliseconds for which a payment may be repeated: its validity, and ten minutes in which a failed execution is owed.
 */
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
  const makeRoom = (now: number) => {
    for (const [key, { until }] of doubts) {
      if (doubts.size < capacity && now < until) return
      doubts.delete(key)
    }
  }
  return {
    resuming: (sent) =>
      // Usually nothing is in doubt, and the key need not be computed.
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
        makeRoom(now)
        doubts.set(key, { ids: withLatest(known, sent.claim.id), until: now + lifetimeMillis })
      }),
    forget: (sent) => (doubts.size === 0 ? Effect.void : Effect.map(keyOf(sent), (key) => void doubts.delete(key)))
  }
}

/**
 * Adds a claim. Beyond the limit the second one is dropped: the first is likelier to hold the execution than later
 * ones, which may never have arrived.
 */
const withLatest = (known: ReadonlyArray<string>, id: string): ReadonlyArray<string> => {
  if (known.includes(id)) return known
  return known.length < maximumResumed ? [...known, id] : [...known.slice(0, 1), ...known.slice(2), id]
}
