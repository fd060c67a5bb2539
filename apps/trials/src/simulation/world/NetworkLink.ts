/**
 * The way of a process to the outside: a database, a node. A question takes its time, and so does the answer; either may be
 * lost, and a process that is dead asks nothing and hears nothing.
 */
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** No answer has come. `heard`: the question has arrived all the same. */
export class LinkBroken extends Data.TaggedError("LinkBroken")<{ readonly heard: boolean }> {}

/** A link. */
export interface NetworkLink {
  /** The process that sends. */
  readonly process: string
  /** The services of its fibers: its clock, its scheduler, its entropy, its log. */
  readonly context: Context.Context<never>
  /** Has the other side answer at some instant between now and when the answer is here. */
  readonly exchange: <A>(what: string, question: () => A) => Effect.Effect<A, LinkBroken>
}
