/**
 * The door before the intake of payments. Whoever watches over the facilitator closes it while taking payments would promise what
 * cannot be kept: records that are not written, a chain that is another one. What is under way goes on behind a closed door.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"

/**
 * A reason to take no payment. With a network it holds for new payments there: one on record answers from its record. Without, it
 * holds for every payment, because the records themselves are in doubt.
 */
export interface Closure {
  readonly network?: string
  readonly reason: string
}

/** The door. */
export interface IntakeGate {
  /** Replaces the reasons of one watcher, by its name; none opens the door for it. */
  readonly close: (watcher: string, closures: ReadonlyArray<Closure>) => void
  /** Fails while the records are in doubt. */
  readonly passAny: Effect.Effect<void, FacilitatorUnavailable>
  /** Fails while new payments on this network are not taken. */
  readonly passNew: (network: string) => Effect.Effect<void, FacilitatorUnavailable>
}

/** The check of a door that is given as an option. */
export const check: OptionCheck.Check<IntakeGate> = OptionCheck.given<IntakeGate>(
  "a door of IntakeGate.make()",
  (value) => Predicate.hasProperty(value, "passNew") && Predicate.isFunction(value.passNew)
)

/** A person has to mend what closes the door; seconds. */
const retryAfter = 10

/** An open door. */
export const make = (): IntakeGate => {
  const reasons = new Map<string, ReadonlyArray<Closure>>()
  let closures: ReadonlyArray<Closure> = []
  const demandNone = (holds: (closure: Closure) => boolean) =>
    Effect.suspend(() => {
      const found = closures.find(holds)
      if (found === undefined) return Effect.void
      const message = `no payment is taken now: ${found.reason}; send the same payment again later`
      return Effect.fail(new FacilitatorUnavailable({ message, retryAfter }))
    })
  return {
    close: (watcher, given) => {
      if (given.length === 0) reasons.delete(watcher)
      else reasons.set(watcher, given)
      closures = [...reasons.values()].flat()
    },
    passAny: demandNone(({ network }) => network === undefined),
    passNew: (network) => demandNone((closure) => closure.network === undefined || closure.network === network)
  }
}
