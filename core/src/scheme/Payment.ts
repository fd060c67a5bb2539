/** A payment and a block, as the parts of a scheme facilitator know them. */
import type { Authorization } from "../protocol/Authorization.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"

/**
 * A payment as the facilitator holds it: the offer, the signed terms in the form that all schemes share, and the scheme's own payload.
 */
export interface Payment<Payload = unknown> {
  readonly requirements: PaymentRequirements
  readonly authorization: Authorization
  readonly payload: Payload
  /**
   * The name of the caller on whose behalf it is verified and settled; empty if callers have no names. The engine adds it to the result
   * of `read`: a scheme counts its losses by it.
   */
  readonly caller?: string
  /**
   * It was accepted under earlier settings, and today's `read` refuses it: only `recall` could read it. The engine sets this. Such a
   * payment is watched to its end, and nothing new is signed for it.
   */
  readonly recalled?: true
}

/** A block, by its number and by the hash that tells it from another with the same number. */
export interface Block {
  readonly number: bigint
  readonly hash: string
}
