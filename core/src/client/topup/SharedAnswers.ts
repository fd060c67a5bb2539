/**
 * Answers about top-ups that the options of one offer share: a shop may list many options in one asset, and a silent node or
 * facilitator would be waited for once for each.
 */
import * as Effect from "effect/Effect"

import type { TopUpSource } from "../../scheme/TopUpSource.ts"

/** The source with one question for each balance and each way. */
export const of = (source: TopUpSource): TopUpSource => ({
  ...source,
  balanceOf: once(({ address, network }) => `${network} ${address}`, source.balanceOf),
  offers: once((network, asset) => `${network} ${asset}`, source.offers)
})

const once = <Question extends ReadonlyArray<unknown>, A, E>(
  nameOf: (...question: Question) => string,
  ask: (...question: Question) => Effect.Effect<A, E>
) => {
  const answers = new Map<string, Effect.Effect<A, E>>()
  return (...question: Question): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const name = nameOf(...question)
      return (
        answers.get(name) ??
        Effect.flatMap(Effect.cached(ask(...question)), (answer) => {
          answers.set(name, answer)
          return answer
        })
      )
    })
}
