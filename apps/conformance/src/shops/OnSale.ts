/**
 * When a shop has begun to sell.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as Goods from "./Goods.ts"

/** Our shops sell nothing (503) before they have proven their wiring against chain and facilitator, which takes a moment. */
export const untilOnSale = (url: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    const response = await fetch(`${url}${Goods.paths.report}`)
    await response.arrayBuffer()
    return response.status
  }).pipe(
    Effect.repeat({ while: (status) => status === 503, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("30 seconds"),
    Effect.asVoid,
    Effect.orDie
  )
