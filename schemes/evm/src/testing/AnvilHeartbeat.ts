/**
 * Keeps a local chain going. A node that makes a block for each transaction now and then forgets one in its pool, when a
 * copy of a transaction arrives just as the first is mined, and stands still until the next transaction comes; a real
 * chain makes blocks anyway. So where a transaction waits for a second although the node should mine at once, this mines.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { AnvilControl } from "./AnvilControl.ts"

const beatMillis = 500

const decodeStatus = Schema.decodeUnknownSync(Schema.Struct({ pending: Schema.String }))

/**
 * Beats as long as the scope, in real time, also where the test's clock stands still.
 *
 * @category constructors
 */
export const start = ({ mine, request }: Pick<AnvilControl, "mine" | "request">) => {
  let waited = false
  const beat = Effect.gen(function* () {
    const waits = BigInt(decodeStatus(yield* request("txpool_status")).pending) > 0n
    const forgotten = waits && waited && (yield* request("anvil_getAutomine")) === true
    waited = waits && !forgotten
    if (forgotten) yield* mine()
  })
  return Effect.acquireRelease(
    Effect.sync(() => {
      let beating: Promise<unknown> = Promise.resolve()
      const timer = setInterval(() => (beating = beating.then(() => Effect.runPromiseExit(beat))), beatMillis)
      return { beating: () => beating, timer }
    }),
    ({ beating, timer }) =>
      Effect.promise(() => {
        clearInterval(timer)
        return beating()
      })
  )
}
