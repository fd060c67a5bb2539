/**
 * What a transaction must offer to take the place of one that waits: nodes ask for a tenth more of both fees (geth, reth),
 * some for an eighth (Erigon's default for others of ours is higher still), so an eighth more is offered, and never less
 * than the chain asks now.
 */
import type { Fees, Prepared } from "../scheme/SchemeFacilitator.ts"

/**
 * The fees of a replacement, or `undefined` where they would go above the operator's ceiling.
 *
 * @category combinators
 */
export const replacing = ({ ceiling, maximum, priority }: Fees, earlier: NonNullable<Prepared["fees"]>) => {
  const fees = {
    ceiling,
    maximum: greater(maximum, anEighthMore(earlier.maximum)),
    priority: greater(priority, anEighthMore(earlier.priority))
  }
  return fees.maximum > ceiling || fees.priority > ceiling
    ? undefined
    : { ...fees, maximum: greater(fees.maximum, fees.priority) }
}

/** Rounded up, and at least one unit more. */
const anEighthMore = (amount: bigint): bigint => amount + amount / 8n + 1n

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
