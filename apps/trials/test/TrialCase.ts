/**
 * Trials in small sizes, as tests. Their verdicts do not depend on how busy the machine is: a test waits until everything has
 * ended, authorizations outlive it, and promises in seconds are left to `npm run trials`.
 */
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

/** A run that stands still is ended after this time, so that its differences are reported; no verdict depends on it. */
const stillMillis = 600_000
const limitMillis = 3 * stillMillis
/** The longest validity that these payments offer, in seconds. */
const validSeconds = 600
/** Buyers at once: the end of a trial waits for blocks, and each buyer costs as much of the machine as the facilitator. */
const mostBuyers = 6
const quiet = Logger.layer([])

/** Checks that count seconds, or answers that a kill happened to cut: a slow machine alone fails them. */
const timed: ReadonlySet<string> = new Set(["waited-for-a-lease", "shop-silent", "unanswered"])

const report = ({ run, size, store = "sqlite" }: TrialCase, mutation?: MutationName) =>
  Effect.scoped(
    run({ store, size, seed: "a test", mutation, patienceMillis: stillMillis, validSeconds, mostBuyers, outputs: [] })
  ).pipe(Effect.provide(quiet))

/** The promise is kept. */
export const keeps = (name: string, trial: TrialCase) =>
  it.live(
    name,
    () =>
      Effect.map(report(trial), (made) => {
        const findings = made.findings.filter(({ check }) => !timed.has(check))
        assert.isEmpty(findings, toText(made))
      }),
    limitMillis
  )

/**
 * The trial finds this with the mutation, so that finding nothing means something. Only for mutations that show at an event of
 * the trial's own, wherever kills fall and however long anything takes; the others are found by simulations.
 */
export const breaks = (mutation: MutationName, check: string, trial: TrialCase) =>
  it.live(
    `finds ${check} with ${mutation}`,
    () =>
      Effect.map(report(trial, mutation), (made) =>
        assert.include(
          made.findings.map((one) => one.check),
          check,
          toText(made)
        )
      ),
    limitMillis
  )
