/**
 * Confirms the ends of payments by a second look. One of several nodes behind a URL may lag and show no receipt of a payment that was
 * made, while another one tells the newest solidified block: an end counts only when it was seen as of two solidified blocks.
 */
import * as BoundedMap from "@pontage/core/BoundedMap"

/** The ends that payments were seen to have, by their transactions' ids. */
export interface EndConfirmation {
  /** Whether the same end was seen before as of an earlier solidified block; remembers it otherwise. */
  readonly confirm: (id: string, end: string, block: bigint) => boolean
  /** Forgets a payment that has not ended by the last look. */
  readonly forget: (id: string) => void
}

/** Payments that are remembered; beyond it the oldest are forgotten, and looked at twice again. */
const capacity = 10_000

/** Makes the confirmation for a chain. */
export const make = (): EndConfirmation => {
  const ends = BoundedMap.oldestOut<string, { readonly end: string; readonly block: bigint }>(capacity)
  return {
    confirm: (id, end, block) => {
      const first = ends.get(id)
      if (first?.end === end) return first.block < block
      ends.set(id, { end, block })
      return false
    },
    forget: (id) => void ends.delete(id)
  }
}
