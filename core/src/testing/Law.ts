/**
 * Laws: the properties that every implementation of a contract must keep, as data. A law is an effect that fails with
 * `LawBroken`; run each one under its name with any test runner.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Formatter from "effect/Formatter"

/** A broken law. `message` names the expected and the actual value. */
export class LawBroken extends Data.TaggedError("LawBroken")<{ readonly message: string }> {}

/** One law, and the services that it needs. */
export interface Law<R = never> {
  readonly name: string
  readonly effect: Effect.Effect<void, LawBroken, R>
}

/** Holds when the two are equal by value. */
export const same = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, LawBroken> =>
  Equal.equals(actual, expected)
    ? Effect.void
    : Effect.fail(
        new LawBroken({ message: `${what}: expected ${Formatter.format(expected)}, got ${Formatter.format(actual)}` })
      )

/** Holds when the condition is true. */
export const holds = (what: string, condition: boolean): Effect.Effect<void, LawBroken> =>
  condition ? Effect.void : Effect.fail(new LawBroken({ message: `${what}: it does not` }))

/** A failure that the law does not expect breaks it; so does a defect. */
export const succeeds = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, LawBroken, R> =>
  Effect.catchCause(effect, (cause) =>
    Effect.fail(new LawBroken({ message: `${what}: expected success, got ${Formatter.format(cause)}` }))
  )
