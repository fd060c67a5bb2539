/**
 * What a lane's worker remembers of the numbers that the lane has left out (`SlotGaps`).
 */

/** What is watched of a lane's numbers. */
export interface SlotWatch {
  /** The chain's head when the watch began; `undefined` until it is first asked. When it is final, nothing is taken back. */
  since: bigint | undefined
  /** No number was left out since then that a reorganisation may give back. */
  isOver: boolean
  /** The first number that was missing at the last look, and the chain's head when it was first missed. */
  missed: { readonly first: bigint; readonly head: bigint } | undefined
  /** Numbers below this one, as far as they are missing, are known to be missing for good. */
  confirmed: bigint
  /** Not looked again before this (Unix milliseconds). */
  nextLook: number
}

/** Begins a watch. */
export const make = (): SlotWatch => ({
  since: undefined,
  isOver: false,
  missed: undefined,
  confirmed: 0n,
  nextLook: 0
})
