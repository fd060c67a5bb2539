/**
 * Something that the shops answer in different ways, looked at from outside and told in a line.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { Compared, Stage } from "./Stage.ts"

/** A behaviour: how it is seen, and what should be seen of it. */
export interface Behaviour {
  readonly title: string
  readonly see: (stage: Stage, shop: Compared) => Effect.Effect<string, never, Scope.Scope>
  readonly shows: {
    readonly ours: RegExp
    /** Our shop at the peer's facilitator; as at ours where nothing is said. */
    readonly abroad?: RegExp
    readonly peer: RegExp
    readonly legacy: RegExp
  }
}

/** The expected observation at a shop. */
export const shownBy = ({ shows }: Behaviour, { facilitator, shop }: Compared): RegExp => {
  switch (shop) {
    case "koa":
    case "nest":
      return facilitator === "ours" ? shows.ours : (shows.abroad ?? shows.ours)
    case "peer":
      return shows.peer
    case "legacy":
      return shows.legacy
  }
}

/** "1 run", "2 runs". */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`
