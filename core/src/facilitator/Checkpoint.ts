/**
 * The points in a payment's life where a crash, a disk or a hung connection may stop it. Each stands between two steps
 * that must be safe to separate. In operation passing one costs a function call; a crash test sets its own reference
 * here.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The points, in the order in which a payment passes them. */
export const checkpoints = [
  "verified",
  "claimed",
  "queued",
  "taken-up",
  "signed",
  "planned",
  "submitted",
  "marked-sent",
  "observed",
  "included",
  "responded",
  "re-signed",
  "replaced",
  "finalised",
  "finishing",
  "finished"
] as const

/** The points of payment channels: those of a draw, and those of the claims that the facilitator makes by itself. */
export const channelCheckpoints = [
  "refund-held",
  "refund-settled",
  "draw-granted",
  "draw-ending",
  "draw-ended",
  "claim-published",
  "claim-settled"
] as const

export type CheckpointName = (typeof checkpoints)[number] | (typeof channelCheckpoints)[number]

/** An action at a checkpoint. */
export type Strike = (name: CheckpointName) => Effect.Effect<void>

/** The action at every checkpoint; by default none. */
export const Checkpoint: Context.Reference<Strike> = Context.Reference<Strike>("@pontage/core/Checkpoint", {
  defaultValue: () => () => Effect.void
})

/** Passes a checkpoint. */
export const pass = (name: CheckpointName): Effect.Effect<void> => Effect.flatMap(Checkpoint, (strike) => strike(name))
