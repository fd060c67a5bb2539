/**
 * An open loop: requests begin at the instants of a fixed rate, whatever becomes of those before. The latencies count from the planned
 * instants, so that a pause of the measured side is seen by all requests that should have come in it.
 */
import * as Effect from "effect/Effect"

/** Milliseconds before the first instant, in which the requests are set up. */
const lead = 100

/**
 * Runs each item at its instant, at this rate a second. `run` gets the planned instant, by `performance.now()`. Completes with the
 * results when the last one has ended.
 */
export const atRate = <Item, A, E>(
  items: ReadonlyArray<Item>,
  rate: number,
  run: (item: Item, index: number, planned: number) => Effect.Effect<A, E>
): Effect.Effect<Array<A>, E> =>
  Effect.suspend(() => {
    const start = performance.now() + lead
    return Effect.forEach(
      items,
      (item, index) => {
        const planned = start + (index * 1_000) / rate
        return Effect.delay(
          Effect.suspend(() => run(item, index, planned)),
          Math.max(0, planned - performance.now())
        )
      },
      { concurrency: "unbounded" }
    )
  })
