/**
 * What a facilitator's `/ready` says while its records are in trouble, and afterwards: it has to say the truth, and why.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { Broken } from "./TrialReport.ts"

const Report = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({ name: Schema.String, troubles: Schema.Array(Schema.Struct({ problem: Schema.String })) })
  )
})
const decode = Schema.decodeUnknownOption(Report)

/** Between two questions, in milliseconds. */
const pause = 200

/** A busy machine is given its time: how soon it was is a figure. */
const patience = "20 seconds"

/** What a trouble is called whose cause nobody has named. */
const unnamed = "the database has failed"

interface Seen {
  readonly status: number
  readonly problems: ReadonlyArray<string>
}

const ask = (url: string): Effect.Effect<Seen> =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(`${url}/ready`, { signal })
    const report = decode(await response.json())
    const checks = Option.isSome(report) ? report.value.checks : []
    return {
      status: response.status,
      problems: checks.flatMap(({ troubles }) => troubles.map(({ problem }) => problem))
    }
  }).pipe(
    Effect.timeout("5 seconds"),
    Effect.orElseSucceed(() => ({ status: 0, problems: [] }))
  )

const until = (url: string, holds: (seen: Seen) => boolean): Effect.Effect<number | undefined> =>
  Effect.suspend(() => {
    const start = performance.now()
    const look: Effect.Effect<number> = Effect.flatMap(ask(url), (seen) =>
      holds(seen) ? Effect.sync(() => (performance.now() - start) / 1000) : Effect.andThen(Effect.sleep(pause), look)
    )
    return Effect.map(Effect.timeoutOption(look, patience), Option.getOrUndefined)
  })

/**
 * Waits until it says that it is not ready, for a cause with a name; what is broken if it does not.
 *
 * @category combinators
 */
export const saysTrouble = (url: string): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    const seconds = yield* until(
      url,
      ({ problems, status }) =>
        status === 503 && problems.length > 0 && problems.every((problem) => !problem.includes(unnamed))
    )
    if (seconds === undefined) {
      const { problems, status } = yield* ask(url)
      return [{ check: "ready-in-trouble", detail: `/ready says ${status}: ${problems.join("; ")}` }]
    }
    yield* Effect.logInfo(`not ready after ${seconds.toFixed(1)} s`)
    return []
  })

/**
 * Waits until it says that it is ready; what is broken if it does not.
 *
 * @category combinators
 */
export const saysReady = (url: string): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    if ((yield* until(url, ({ status }) => status === 200)) !== undefined) return []
    const { problems, status } = yield* ask(url)
    return [{ check: "not-ready-again", detail: `/ready says ${status}: ${problems.join("; ")}` }]
  })
