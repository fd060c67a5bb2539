/**
 * The places in the life of a payment where something may stop it: a crash, a disk, a hung connection. Each stands between
 * two steps that must be safe to be cut apart. In operation passing one costs a function call; a test of crashes puts its
 * own reference here and strikes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The places, in the order in which a payment meets them. */
export const checkpoints = [
  "examined",
  "claimed",
  "queued",
  "taken-up",
  "signed",
  "planned",
  "submitted",
  "marked-sent",
  "observed",
  "landed",
  "told",
  "re-signed",
  "replaced",
  "finalised",
  "finishing",
  "finished"
] as const

export type CheckpointName = (typeof checkpoints)[number]

/** What happens at a checkpoint. */
export type Strike = (name: CheckpointName) => Effect.Effect<void>

/** What happens at every checkpoint; by default nothing. */
export const Checkpoint: Context.Reference<Strike> = Context.Reference<Strike>("@pontage/core/Checkpoint", {
  defaultValue: () => () => Effect.void
})

/** Passes a checkpoint. */
export const pass = (name: CheckpointName): Effect.Effect<void> => Effect.flatMap(Checkpoint, (strike) => strike(name))
