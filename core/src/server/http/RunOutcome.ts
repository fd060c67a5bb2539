/**
 * How a paid run ended, by the status of its answer: the one rule for every host adapter.
 */
import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"

/**
 * `served` below 400, `refused` below 500, `failed` from there on. An answer that was not sent to its end is the host's to
 * judge.
 */
export const ofStatus = (status: number): Exclude<ExecutionOutcome, "notRun"> => {
  if (status >= 500) return "failed"
  return status >= 400 ? "refused" : "served"
}
