/**
 * The planted faults of a process under trial, as its environment has them: `FAILPOINT` and `MUTATION`.
 */
import { type Checkpoint } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

import * as Failpoint from "../faults/Failpoint.ts"
import { type Mutation, mutations } from "../Mutation.ts"
import { MutationName, type TrialSettings } from "./TrialSettings.ts"

/** The restored fault; none if the environment names none. */
export const mutation = (): Mutation => {
  const name = process.env["MUTATION"]
  return name === undefined || name === "" ? {} : mutations[Schema.decodeUnknownSync(MutationName)(name)]
}

/** The strikes at checkpoints. */
export const strikes = ({ hangMillis }: TrialSettings): Checkpoint.Strike => {
  const text = process.env["FAILPOINT"]
  const failpoints = text === undefined || text === "" ? undefined : Failpoint.seriesFromText(text)
  if (failpoints === undefined) return () => Effect.void
  return Failpoint.make(failpoints, { hangMillis, kill, onStrike })
}

const kill = () => process.kill(process.pid, "SIGKILL")

const onStrike = (one: Failpoint.Failpoint) => void process.stdout.write(`strikes ${Failpoint.toText(one)}\n`)

/** Tries again while the chain cannot be asked yet. */
export const untilReady = <A, E extends { readonly _tag: string }, R>(scheme: Effect.Effect<A, E, R>) =>
  Effect.retry(scheme, { schedule: Schedule.spaced("500 millis"), while: isLate })

const isLate = ({ _tag }: { readonly _tag: string }) => _tag === "ChainUnavailable"
