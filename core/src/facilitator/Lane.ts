/**
 * A lane is one signer's line of transactions: numbered slots that the chain works off strictly in order. Many payments
 * travel in it at once, each in its own slot; a slot that was taken and not used is a hole that stops everything behind
 * it, so it is handed to the next payment or closed.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { Slot } from "../scheme/SchemeFacilitator.ts"

/**
 * Transactions of one signer that may be on their way at once. Nodes promise to hold about this many for an account.
 *
 * @category constants
 */
export const capacity = 16

/**
 * One signer's slots.
 *
 * @category models
 */
export interface Lane {
  readonly address: string
  /** How many payments hold or await a slot: the engine picks the shortest lane. */
  readonly load: () => number
  /** Runs an effect with one of the lane's places; waits while all are taken. */
  readonly withPlace: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Takes the lowest free slot and gives it to `use`, one at a time; when `use` fails, the slot is free again. */
  readonly take: <A, E, R, E2>(
    start: Effect.Effect<bigint, E2>,
    use: (slot: Slot) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | E2, R>
  /** Gives back a slot whose transaction the node does not hold. Returns whether it left a hole below slots in use. */
  readonly giveBack: (slot: Slot) => boolean
  /** Learns the chain's own count, after somebody else has used this signer. */
  readonly catchUp: (next: bigint) => void
}

/**
 * Makes a lane. The first slot is asked from the chain when it is first needed, by `take`'s `start`.
 *
 * @category constructors
 */
export const make = (address: string): Effect.Effect<Lane> =>
  Effect.map(Effect.all([Semaphore.make(capacity), Semaphore.make(1)]), ([places, turn]) => {
    let next: bigint | undefined
    let load = 0
    const holes = new Set<bigint>()

    const lowest = (first: bigint): bigint => {
      const hole = [...holes].reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined)
      if (hole === undefined) {
        next = first + 1n
        return first
      }
      holes.delete(hole)
      return hole
    }

    const giveBack = ({ number }: Slot): boolean => {
      holes.add(number)
      while (next !== undefined && holes.delete(next - 1n)) next -= 1n
      return holes.has(number)
    }

    return {
      address,
      load: () => load,
      withPlace: (effect) =>
        Effect.suspend(() => {
          load++
          return Effect.ensuring(
            places.withPermits(1)(effect),
            Effect.sync(() => void load--)
          )
        }),
      take: (start, use) =>
        turn.withPermits(1)(
          Effect.gen(function* () {
            const slot = { lane: address, number: lowest(next ?? (yield* start)) }
            return yield* Effect.onError(use(slot), () => Effect.sync(() => void giveBack(slot)))
          })
        ),
      giveBack,
      catchUp: (chain) => {
        if (next !== undefined && chain > next) next = chain
        for (const hole of holes) if (hole < chain) holes.delete(hole)
      }
    }
  })
