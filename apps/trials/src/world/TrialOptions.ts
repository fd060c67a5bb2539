/**
 * What a trial is asked for on the command line.
 */
import type { MutationName } from "../Mutation.ts"

/**
 * The options that all trials share. `size` is what a trial counts: kills, payments, rounds; each has a default of its own.
 */
export interface TrialOptions {
  readonly store: "sqlite" | "postgres" | "memory"
  readonly seed: string
  readonly size: number | undefined
  readonly mutation: MutationName | undefined
  /** How long it goes on, for trials that take a time; default by trial. */
  readonly minutes?: number | undefined
  /** How long buyers ask for an outcome and the audit waits for an end, in milliseconds; default by trial. */
  readonly patienceMillis?: number
  /** How long authorizations are valid, in seconds; default by trial. */
  readonly validSeconds?: number
}
