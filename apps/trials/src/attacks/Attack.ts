/**
 * An attack by a hostile payer, tenant, shop or stranger from outside, with HTTP, a wallet and a chain alone, and the gain that the
 * target must prevent.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { SourceMutation } from "./SourceMutation.ts"
import type { AttackStage, TargetName } from "./stage/AttackStage.ts"

/** The result of an attack. */
export interface Seen {
  /** Whether the target gave nothing away. */
  readonly held: boolean
  /** The observed behaviour in a few words, with figures. */
  readonly seen: string
  /** Costs of the attacker and of the target, in coins, tokens or responses. */
  readonly attackerCost?: string
  readonly targetCost?: string
}

/** An attack. */
export interface Attack {
  /** In kebab case, for the command line. */
  readonly name: string
  /** The attacker's steps. */
  readonly what: string
  /** The behaviour that a safe target shows. */
  readonly expected: string
  /** The targets it makes sense against. */
  readonly targets: ReadonlyArray<TargetName>
  /** The fault in our own sources that lets it through. A battery that stays green with it proves nothing. */
  readonly mutation: SourceMutation
  readonly run: (stage: AttackStage) => Effect.Effect<Seen, unknown, Scope.Scope>
}
