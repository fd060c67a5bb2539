/** Trials in small sizes, as tests: those that are to keep their promise, and those whose mutation has to break it. */
import { assert, it } from "@effect/vitest"
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"

import type { MutationName } from "../src/Mutation.ts"
import type { TrialOptions } from "../src/world/TrialOptions.ts"
import { toText, type TrialReport } from "../src/world/TrialReport.ts"

/** A trial in a small size. */
export interface TrialCase {
  readonly store?: TrialOptions["store"]
  readonly size?: number
  readonly run: (options: TrialOptions) => Effect.Effect<TrialReport, Anvil.AnvilFailed, Scope.Scope>
}

const limitMillis = 240_000
const quiet = Logger.layer([])

const report = ({ run, size, store = "sqlite" }: TrialCase, changed: Partial<TrialOptions> = {}) =>
  Effect.scoped(run({ store, size, seed: "a test", mutation: undefined, ...changed })).pipe(Effect.provide(quiet))

/** The promise is kept. */
export const keeps = (name: string, trial: TrialCase) =>
  it.live(name, () => Effect.map(report(trial), (made) => assert.isEmpty(made.findings, toText(made))), limitMillis)

/** With the mutation the trial finds one of these, so that finding nothing means something. */
export const breaks = (mutation: MutationName | undefined, check: string | ReadonlyArray<string>, trial: TrialCase) =>
  it.live(
    `finds ${[check].flat().join(" or ")} with ${mutation ?? "records in memory"}`,
    () =>
      Effect.map(report(trial, { mutation, patienceMillis: 15_000 }), (made) =>
        assert.isTrue(
          made.findings.some((one) => [check].flat().includes(one.check)),
          toText(made)
        )
      ),
    limitMillis
  )
