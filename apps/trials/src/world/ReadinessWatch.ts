/**
 * What a facilitator's `/ready` says of its records while they are in trouble, and afterwards: it has to say the truth, and
 * why. Whatever else it says, as of a chain that answers too late on a busy machine, is not looked at.
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

/** A busy machine is given its time, in milliseconds: how soon it was is told in the log. */
const usualPatience = 100_000

/** How long it may take, in milliseconds. */
type Patience = { readonly patienceMillis?: number | undefined }

/** The name of the check of the records, how its trouble begins when it has a cause, and how one is called that has none. */
const records = "records"
const caused = "the payment records "
const unnamed = "the database has failed"

interface Seen {
  readonly status: number
  /** Of the records; `undefined` when nothing was said of them. */
  readonly problems: ReadonlyArray<string> | undefined
}

const ask = (url: string): Effect.Effect<Seen> =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(`${url}/ready`, { signal })
    const report = decode(await response.json())
    const checks = Option.isSome(report) ? report.value.checks : []
    const found = checks.find(({ name }) => name === records)
    return { status: response.status, problems: found?.troubles.map(({ problem }) => problem) }
  }).pipe(
    Effect.timeout("5 seconds"),
    Effect.orElseSucceed(() => ({ status: 0, problems: undefined }))
  )

const until = (
  url: string,
  { patienceMillis = usualPatience }: Patience,
  holds: (seen: Seen) => boolean
): Effect.Effect<number | undefined> =>
  Effect.suspend(() => {
    const start = performance.now()
    const look: Effect.Effect<number> = Effect.flatMap(ask(url), (seen) =>
      holds(seen) ? Effect.sync(() => (performance.now() - start) / 1000) : Effect.andThen(Effect.sleep(pause), look)
    )
    return Effect.map(Effect.timeoutOption(look, patienceMillis), Option.getOrUndefined)
  })

/** Waits until it says that it is not ready, for a cause with a name; what is broken if it does not. */
export const saysTrouble = (url: string, patience: Patience): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    const seconds = yield* until(
      url,
      patience,
      ({ problems = [], status }) =>
        status === 503 && problems.some((problem) => problem.startsWith(caused) && !problem.includes(unnamed))
    )
    if (seconds === undefined) {
      const { problems = [], status } = yield* ask(url)
      return [{ check: "ready-in-trouble", detail: `/ready says ${status}: ${problems.join("; ")}` }]
    }
    yield* Effect.logInfo(`not ready after ${seconds.toFixed(1)} s`)
    return []
  })

/** Waits until it says that its records are well; what is broken if it does not. */
export const saysReady = (url: string, patience: Patience): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    if ((yield* until(url, patience, ({ problems }) => problems?.length === 0)) !== undefined) return []
    const { problems = [], status } = yield* ask(url)
    return [{ check: "not-ready-again", detail: `/ready says ${status}: ${problems.join("; ")}` }]
  })
