/**
 * What a transaction must offer to take the place of one that waits: nodes ask for a tenth more of both fees (geth, reth),
 * some for an eighth, so an eighth more is offered, and what the chain asks now where that is more.
 */
import type { Fees, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"

/** The fees of a replacement, or `undefined` where even an eighth more is above the operator's ceiling. */
export const replacing = ({ ceiling, maximum, priority }: Fees, earlier: NonNullable<PreparedTransaction["fees"]>) => {
  const least = anEighthMore(earlier.maximum)
  const tip = greater(priority, anEighthMore(earlier.priority))
  const offer = greater(lesser(maximum, ceiling), greater(least, tip))
  return offer > ceiling ? undefined : { ceiling, maximum: offer, priority: tip }
}

/** What a replacement must offer, and may then cost: rounded up, and at least one unit more. */
export const anEighthMore = (amount: bigint): bigint => amount + amount / 8n + 1n

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b)
