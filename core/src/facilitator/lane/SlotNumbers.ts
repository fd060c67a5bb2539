/**
 * The numbers of a lane's slots: the next one, and the memory of the numbers that the lane has left out (`SlotGaps`).
 */
import type { ChainHead } from "../../scheme/SchemeFacilitator.ts"

/** A lane's numbers. Written by `SlotGaps`; the next number also by `Signing`, which takes it. */
export interface SlotNumbers {
  /** The number of the next transaction. */
  next: bigint
  /** The chain's head (block number) when the watch began; `undefined` until the first query. */
  since: bigint | undefined
  /** The watch is over: since it began no number was left out that a reorganisation may give back. */
  isOver: boolean
  /** The first number that was missing at the last look, and the chain's head when it was first missed. */
  missed: { readonly first: bigint; readonly head: bigint } | undefined
  /** Numbers below this one, as far as they are missing, are known to be missing for good. */
  confirmed: bigint
  /** The earliest time of the next look; Unix milliseconds. */
  nextLook: number
}

/** Begins with this number, and with a watch. */
export const make = (next: bigint): SlotNumbers => ({
  next,
  since: undefined,
  isOver: false,
  missed: undefined,
  confirmed: 0n,
  nextLook: 0
})

/** Moves the lane to a higher number, and begins a new watch. */
export const skipTo = (slots: SlotNumbers, next: bigint): void => {
  Object.assign(slots, make(next))
}

/** Notes a head at which no number is missing. Once the watch's first head is final, a reorganisation gives nothing back. */
export const noneMissing = (slots: SlotNumbers, { final, head }: ChainHead): void => {
  slots.missed = undefined
  slots.since ??= head.number
  if (final >= slots.since) slots.isOver = true
}
