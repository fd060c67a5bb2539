/**
 * Who works a lane. A lane's transactions are planned by one worker at a time; which one, a lease says. Leases give
 * progress and no safety: that comes from the store, which refuses every write of a worker whose lease has passed on.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The right to work a lane. Each new holder has a higher `epoch` than the one before. */
export interface Lease {
  /** The lane's name (`LaneName`). */
  readonly lane: string
  readonly epoch: number
  /** Whether it holds now by this process's monotonic clock. Asked right before anything is sent. */
  readonly isValid: () => boolean
}

/**
 * The lane is somebody else's by now, or its records are not as this worker knows them: nothing was written. The worker
 * stops, and begins anew from the records if it gets the lane again.
 */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly lane: string }> {
  override get message(): string {
    return `the lease of the lane ${this.lane} has passed on`
  }
}

/** Hands out lanes. */
export class LaneLeases extends Context.Service<
  LaneLeases,
  {
    /**
     * Runs `run` for every lane that this process holds, interrupts it when the lease is lost and starts it again when it
     * comes back. Never ends by itself; an end of `run` is the end of that lease's work. `orphaned` lanes are those whose signer
     * this process does not have: it holds one only while nobody else would work it, and gives it back to whoever comes.
     */
    readonly work: (
      lanes: ReadonlyArray<string>,
      run: (lease: Lease) => Effect.Effect<void>,
      of?: "orphaned"
    ) => Effect.Effect<never>
  }
>()("@pontage/core/LaneLeases") {}

/** One process holds every lane for ever: for stores that no other process can open. */
export const layerSole: Layer.Layer<LaneLeases> = Layer.succeed(
  LaneLeases,
  LaneLeases.of({
    work: (lanes, run) =>
      Effect.andThen(
        Effect.forEach(lanes, (lane) => run({ lane, epoch: soleEpoch, isValid: () => true }), {
          concurrency: "unbounded",
          discard: true
        }),
        Effect.never
      )
  })
)

/** The epoch of the only holder there is. */
export const soleEpoch = 0
