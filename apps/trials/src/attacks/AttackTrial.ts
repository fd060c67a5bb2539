/**
 * The battery of attacks: each against the programs as they are shipped, as black boxes; then a table of what was seen. With
 * `mutations` each attack is tried once more on a target whose fault is restored, and has to get through there.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

import type { Attack, Seen } from "./Attack.ts"
import { battery } from "./Battery.ts"
import * as AttackStage from "./stage/AttackStage.ts"

/** Which attacks, and on what. */
export interface Options {
  /** Names of attacks; default all. */
  readonly only?: ReadonlyArray<string>
  readonly targets: ReadonlyArray<AttackStage.TargetName>
  /** Whether each attack is tried on its fault too. */
  readonly mutations: boolean
  /** Receives each result as it arrives. */
  readonly tell?: (row: Row) => Effect.Effect<void>
}

/** The result of an attack on one target. */
export interface Row {
  readonly attack: Attack
  readonly target: AttackStage.TargetName | "mutated"
  readonly seen: Seen
}

/**
 * Whether a row is as it should be: our target holds, and a restored fault is found. Rows of other targets are only reported.
 */
export const isAsItShould = ({ seen, target }: Row): boolean => {
  if (target === "x402") return true
  return target === "pontage" ? seen.held : !seen.held
}

/** An attack that cannot be carried out proves nothing, and so has not been held. */
const broken = (cause: Cause.Cause<unknown>): Seen => ({
  held: false,
  seen: `could not be tried: ${Cause.pretty(cause).slice(0, 600)}`
})

const tried = Effect.fnUntraced(function* (attack: Attack, target: Row["target"], stage: Staged) {
  const end = yield* Effect.exit(Effect.scoped(Effect.flatMap(stage, (made) => attack.run(made))))
  if (Exit.isSuccess(end)) return { attack, target, seen: end.value } satisfies Row
  const seen = broken(end.cause)
  // A broken attack on a mutated target does not show that the attack gets through.
  return { attack, target, seen: { ...seen, held: target === "mutated" } } satisfies Row
})

type Staged = Effect.Effect<AttackStage.AttackStage, unknown, Scope.Scope>

/** Carries the attacks out, one after another: each target is set up once, each fault on a stage of its own. */
export const run = Effect.fnUntraced(function* ({ mutations, only, targets, tell = () => Effect.void }: Options) {
  const chosen = battery.filter(({ name }) => only === undefined || only.includes(name))
  const rows: Array<Row> = []
  const scope = yield* Effect.scope
  const usual = {
    pontage: yield* Effect.cached(Scope.provide(AttackStage.make("pontage", undefined), scope)),
    x402: yield* Effect.cached(Scope.provide(AttackStage.make("x402", undefined), scope))
  }
  for (const attack of chosen) {
    const wanted: ReadonlyArray<Row["target"]> = [
      ...targets.filter((target) => attack.targets.includes(target)),
      ...(mutations ? (["mutated"] as const) : [])
    ]
    for (const target of wanted) {
      const stage = target === "mutated" ? AttackStage.make("pontage", attack.mutation) : usual[target]
      const row = yield* tried(attack, target, stage)
      rows.push(row)
      yield* tell(row)
    }
  }
  return rows
})
