/**
 * An attack: what a hostile payer, tenant, shop or stranger does from outside, with HTTP, a wallet and a chain alone, and
 * what they must not get by it.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { SourceMutation } from "./SourceMutation.ts"
import type { AttackStage, TargetName } from "./stage/AttackStage.ts"

/** What came of an attack. */
export interface Seen {
  /** Whether the target gave nothing away. */
  readonly held: boolean
  /** What was seen, in a few words, with the figures. */
  readonly seen: string
  /** What the attacker and the target paid for it, in coins, tokens or answers. */
  readonly attackerCost?: string
  readonly targetCost?: string
}

/** An attack. */
export interface Attack {
  /** In kebab case, for the command line. */
  readonly name: string
  /** What is done. */
  readonly what: string
  /** What must be seen. */
  readonly expected: string
  /** The targets it makes sense against. */
  readonly targets: ReadonlyArray<TargetName>
  /** The fault in our own sources that lets it through. A battery that stays green with it proves nothing. */
  readonly mutation: SourceMutation
  readonly run: (stage: AttackStage) => Effect.Effect<Seen, unknown, Scope.Scope>
}
