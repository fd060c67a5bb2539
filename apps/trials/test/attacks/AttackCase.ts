/** Attacks as tests: a part of the battery in each file, so that the parts run side by side. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type { Attack } from "../../src/attacks/Attack.ts"
import * as AttackTable from "../../src/attacks/AttackTable.ts"
import * as AttackTrial from "../../src/attacks/AttackTrial.ts"

/** A run that stands still ends some time; no verdict depends on its duration. */
const limitMillis = 1_800_000

const cases = (
  name: string,
  only: ReadonlyArray<string>,
  options: Pick<AttackTrial.Options, "mutations" | "targets">
) =>
  it.live(
    name,
    () =>
      Effect.gen(function* () {
        const rows = yield* AttackTrial.run({ ...options, only })
        assert.deepStrictEqual(rows.filter((row) => !AttackTrial.isAsItShould(row)).map(AttackTable.lineOf), [])
        assert.lengthOf(rows, only.length)
      }),
    limitMillis
  )

/** The attacks get nothing out of the programs as they are shipped. */
export const holds = (attacks: ReadonlyArray<Attack>) =>
  cases(
    "gets nothing out of the programs as they are shipped",
    attacks.map(({ name }) => name),
    { targets: ["pontage"], mutations: false }
  )

/** Each of these attacks gets through where its fault is restored. */
export const getsThrough = (...names: ReadonlyArray<string>) =>
  cases("gets through where its fault is brought back", names, { targets: [], mutations: true })
