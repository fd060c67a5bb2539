/**
 * The options of a trial on the command line.
 */
import type { MutationName } from "../Mutation.ts"

/** A process of a trial, and the last lines that it wrote. */
export interface TrialOutput {
  readonly url: string
  readonly log: ReadonlyArray<string>
}

/**
 * The options that all trials share. `size` is the number that a trial counts: kills, payments, rounds; each has a default of its own.
 */
export interface TrialOptions {
  readonly store: "sqlite" | "postgres" | "memory"
  readonly seed: string
  readonly size: number | undefined
  readonly mutation: MutationName | undefined
  /** Whether a part of the payments goes on to a second chain, by a bridge; default not. */
  readonly routes?: boolean | undefined
  /** The bridge: an OFT of LayerZero, which is the default, or CCTP. */
  readonly bridge?: "oft" | "cctp" | undefined
  /** Whether that part is delivered there from the operator's own money instead; default not. */
  readonly inventory?: boolean | undefined
  /** Duration in minutes, for trials that run by time; default by trial. */
  readonly minutes?: number | undefined
  /** Time that buyers ask for an outcome and the audit waits for an end, in milliseconds; default by trial. */
  readonly patienceMillis?: number
  /** Most buyers at once; default by trial. */
  readonly mostBuyers?: number
  /** Validity of authorizations, in seconds; default by trial. */
  readonly validSeconds?: number
  /** Takes the processes that the trial starts: a report of differences shows what they wrote. */
  readonly outputs?: Array<TrialOutput>
}
