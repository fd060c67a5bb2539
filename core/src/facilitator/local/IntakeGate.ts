/**
 * The gate before the intake of payments. A watcher closes it while an accepted payment could not be served: records
 * that cannot be written, the wrong chain. Work under way continues behind a closed gate.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"

/**
 * A reason to accept no payment. With a network it holds for new payments there; a known one is answered from its
 * record. Without a network it holds for every payment, because the records themselves are in doubt.
 */
export interface Closure {
  readonly network?: string
  readonly reason: string
}

/** The gate. */
export interface IntakeGate {
  /** Replaces the reasons of one watcher, by its name; an empty list opens the gate for it. */
  readonly close: (watcher: string, closures: ReadonlyArray<Closure>) => void
  /** Fails while the records are in doubt. */
  readonly passAny: Effect.Effect<void, FacilitatorUnavailable>
  /** Fails while new payments on this network are not accepted. */
  readonly passNew: (network: string) => Effect.Effect<void, FacilitatorUnavailable>
}

/** Checks a gate that is given as an option. */
export const check: OptionCheck.Check<IntakeGate> = OptionCheck.given<IntakeGate>(
  "a gate of IntakeGate.make()",
  (value) => Predicate.hasProperty(value, "passNew") && Predicate.isFunction(value.passNew)
)

/** `Retry-After` in seconds: a person has to repair the cause. */
const retryAfter = 10

/** Makes an open gate. */
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
