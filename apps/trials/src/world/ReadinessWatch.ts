/**
 * The report of a facilitator's `/ready` on its records during a trouble and afterwards: it has to be true and name the
 * cause. Other entries, as of a chain that responds too late on a busy machine, are ignored.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { Broken } from "./TrialReport.ts"

const Report = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      troubles: Schema.Array(Schema.Struct({ kind: Schema.String, problem: Schema.String }))
    })
  )
})
const decode = Schema.decodeUnknownOption(Report)

/** Between two questions, in milliseconds. */
const pause = 200

/** Time for a busy machine, in milliseconds; the log has the real duration. */
const usualPatience = 100_000

/** Time limit, in milliseconds. */
type Patience = { readonly patienceMillis?: number | undefined }

/** The name of the records' check, and the kind of the trouble that stops payments. */
const records = "records"
const unwritable = "records_unwritable"
/** Words for operators in place of a cause that the store does not know: in a trial each cause has to be known. */
const unnamed = "the database has failed"

interface Seen {
  readonly status: number
  /** Of the records; `undefined` when nothing was said of them. */
  readonly troubles: ReadonlyArray<{ readonly kind: string; readonly problem: string }> | undefined
}

const wordsOf = (troubles: NonNullable<Seen["troubles"]>): string => troubles.map(({ problem }) => problem).join("; ")

const ask = (url: string): Effect.Effect<Seen> =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(`${url}/ready`, { signal })
    const report = decode(await response.json())
    const checks = Option.isSome(report) ? report.value.checks : []
    const found = checks.find(({ name }) => name === records)
    return { status: response.status, troubles: found?.troubles }
  }).pipe(
    Effect.timeout("1 minute"),
    Effect.orElseSucceed(() => ({ status: 0, troubles: undefined }))
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

/** Waits until the facilitator reports that it is not ready, with a named cause; returns the broken promise if it does not. */
export const saysTrouble = (url: string, patience: Patience): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    const seconds = yield* until(
      url,
      patience,
      ({ status, troubles = [] }) =>
        status === 503 && troubles.some(({ kind, problem }) => kind === unwritable && !problem.includes(unnamed))
    )
    if (seconds === undefined) {
      const { status, troubles = [] } = yield* ask(url)
      return [{ check: "ready-in-trouble", detail: `/ready says ${status}: ${wordsOf(troubles)}` }]
    }
    yield* Effect.logInfo(`not ready after ${seconds.toFixed(1)} s`)
    return []
  })

/** Waits until the facilitator reports that its records are well; returns the broken promise if it does not. */
export const saysReady = (url: string, patience: Patience): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    if ((yield* until(url, patience, ({ troubles }) => troubles?.length === 0)) !== undefined) return []
    const { status, troubles = [] } = yield* ask(url)
    return [{ check: "not-ready-again", detail: `/ready says ${status}: ${wordsOf(troubles)}` }]
  })
