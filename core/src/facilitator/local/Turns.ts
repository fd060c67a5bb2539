/**
 * Turns: effects of one key run one after the other, in the order of their arrival; those of other keys beside them.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

/** Runs an effect when its key's turn has come. */
export type Turns = <A, E, R>(key: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Turn {
  readonly lock: Semaphore.Semaphore
  /** The effects that run or wait; a turn without any is forgotten. */
  users: number
}

/** Begins without waiting effects. */
export const make = (): Turns => {
  const turns = new Map<string, Turn>()
  const join = (key: string) =>
    Effect.sync(() => {
      const turn = turns.get(key) ?? { lock: Semaphore.makeUnsafe(1), users: 0 }
      turn.users++
      turns.set(key, turn)
      return turn
    })
  const leave = (key: string, turn: Turn) =>
    Effect.sync(() => {
      if (--turn.users === 0) turns.delete(key)
    })
  return (key, effect) =>
    Effect.acquireUseRelease(
      join(key),
      ({ lock }) => lock.withPermit(effect),
      (turn) => leave(key, turn)
    )
}
