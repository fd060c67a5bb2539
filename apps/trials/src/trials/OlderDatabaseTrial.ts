/**
 * G25, for an operator who upgrades: a facilitator that finds the tables of the first release under payments in the middle of
 * their way brings them up to date and goes on; one that finds tables unlike any release's says so and does not begin.
 */
import type { Anvil } from "@pontage/evm/testing"
import { OlderSchema } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as ReadinessWatch from "../world/ReadinessWatch.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

const usualUpgrades = 3

/** Changes to the tables by a build that was never released, or by hand. */
const spoilt = ["ALTER TABLE payment RENAME COLUMN refusal TO objection"]
const mended = ["ALTER TABLE payment RENAME COLUMN objection TO refusal"]

/** The message that the facilitator has to log about them. */
const words = "no column payment.refusal"

/** Runs the trial; its size counts the upgrades. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const upgrades = options.size ?? usualUpgrades
  const world = yield* TrialWorld.make(options)
  let facilitator = yield* world.facilitator()
  yield* facilitator.listening
  const { url } = facilitator
  const port = Number(new URL(url).port)
  /** Between the end of one process and the beginning of the next. */
  const replaced = (statements: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      yield* facilitator.stop
      yield* say(world, statements)
      facilitator = yield* world.facilitator({ port })
    })
  const act = Effect.gen(function* () {
    const dialect = world.database === undefined ? "sqlite" : "pg"
    for (let upgrade = 0; upgrade < upgrades; upgrade++) {
      yield* Effect.sleep("2 seconds")
      yield* replaced(OlderSchema.statements(dialect, 1))
      yield* facilitator.listening
    }
    yield* Effect.sleep("2 seconds")
    yield* replaced(spoilt)
    const found = yield* refusesToBegin(facilitator)
    yield* replaced(mended)
    yield* facilitator.listening
    return [...found, ...(yield* ReadinessWatch.saysReady(url, options))]
  })
  const outcome = yield* TrialAct.underLoad(
    world,
    { facilitators: [url], concurrency: 8, payments: 60, validSeconds: 300 },
    act
  )
  return {
    goal: "G25",
    title: "an older database",
    options,
    figures: { upgrades, ...TrialAct.figures(outcome) },
    findings: [...outcome.result, ...outcome.findings]
  }
})

const say = (world: TrialWorld.TrialWorld, statements: ReadonlyArray<string>): Effect.Effect<void> => {
  const { database, file } = world
  if (database !== undefined) return Effect.forEach(statements, database.run, { discard: true })
  if (file === undefined) return Effect.void
  return Effect.promise(async () => {
    const { DatabaseSync } = await import("node:sqlite")
    const opened = new DatabaseSync(file)
    for (const text of statements) opened.exec(text)
    opened.close()
  })
}

/** It ends by itself, with the difference in words, before it listens. */
const refusesToBegin = (facilitator: FacilitatorLife): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.map(Effect.raceFirst(Effect.as(facilitator.listening, false), saidWhy(facilitator)), (refused) =>
    refused ? [] : [{ check: "began-on-strange-tables", detail: "it took payments into tables unlike its own" }]
  )

const saidWhy = (facilitator: FacilitatorLife): Effect.Effect<boolean> =>
  Effect.suspend(() =>
    facilitator.log.some((line) => line.includes(words))
      ? Effect.succeed(true)
      : Effect.andThen(Effect.sleep(100), saidWhy(facilitator))
  )
