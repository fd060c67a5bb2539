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
  /** How many payments hold or await a slot, and a full lane more while the node refuses: the engine picks the shortest. */
  readonly load: () => number
  /** Runs an effect with one of the lane's places; waits while all are taken. */
  readonly withPlace: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Takes the lowest free slot and gives it to `use`, one at a time; when `use` fails, the slot is free again. */
  readonly take: <A, E, R, E2>(
    start: Effect.Effect<bigint, E2>,
    use: (slot: Slot) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | E2, R>
  /** Takes the lowest hole, if there is one, like `take`. */
  readonly takeHole: <A, E, R>(use: (slot: Slot) => Effect.Effect<A, E, R>) => Effect.Effect<A | undefined, E, R>
  /** Whether there is a hole below slots in use. */
  readonly hasHole: () => boolean
  /** Learns whether the node took this signer's last transaction. */
  readonly heard: (taken: boolean) => void
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
    let refusing = false
    const holes = new Set<bigint>()

    const lowestHole = (): bigint | undefined => {
      const hole = [...holes].reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined)
      if (hole !== undefined) holes.delete(hole)
      return hole
    }

    const giveBack = ({ number }: Slot): boolean => {
      holes.add(number)
      while (next !== undefined && holes.delete(next - 1n)) next -= 1n
      return holes.has(number)
    }

    const using = <A, E, R>(number: bigint, use: (slot: Slot) => Effect.Effect<A, E, R>) => {
      const slot = { lane: address, number }
      return Effect.onError(use(slot), () => Effect.sync(() => void giveBack(slot)))
    }

    return {
      address,
      load: () => load + (refusing ? capacity : 0),
      withPlace: (effect) =>
        Effect.acquireUseRelease(
          Effect.sync(() => void load++),
          () => places.withPermits(1)(effect),
          () => Effect.sync(() => void load--)
        ),
      take: (start, use) =>
        turn.withPermits(1)(
          Effect.gen(function* () {
            const first = next ?? (yield* start)
            const hole = lowestHole()
            if (hole === undefined) next = first + 1n
            return yield* using(hole ?? first, use)
          })
        ),
      takeHole: (use) =>
        turn.withPermits(1)(
          Effect.suspend(() => {
            const hole = lowestHole()
            return hole === undefined ? Effect.undefined : using(hole, use)
          })
        ),
      hasHole: () => holes.size > 0,
      heard: (taken) => void (refusing = !taken),
      giveBack,
      catchUp: (chain) => {
        if (next !== undefined && chain > next) next = chain
        for (const hole of holes) if (hole < chain) holes.delete(hole)
      }
    }
  })
