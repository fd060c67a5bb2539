/**
 * Leases of lanes. A lane's transactions are planned by one worker at a time, the holder of its lease. Leases give
 * progress, not safety: the store refuses every write of a worker whose lease has passed on.
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
  /** Whether the lease holds now, by this process's monotonic clock. Checked right before anything is sent. */
  readonly isValid: () => boolean
}

/**
 * The lane has another holder, or its records differ from this worker's view: nothing was written. The worker stops,
 * and starts from the records if it gets the lane again.
 */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly lane: string }> {
  override get message(): string {
    return `the lease of the lane ${this.lane} has passed on`
  }
}

/** The service that grants lanes. */
export class LaneLeases extends Context.Service<
  LaneLeases,
  {
    /**
     * Runs `run` for every lane that this process holds, interrupts it when the lease is lost, and restarts it when the
     * lease returns. It never ends by itself; the end of `run` ends that lease's work. `orphaned` lanes are those whose
     * signer this process lacks: it holds one only while no other process would work it, and yields it to any that
     * comes.
     */
    readonly work: (
      lanes: ReadonlyArray<string>,
      run: (lease: Lease) => Effect.Effect<void>,
      of?: "orphaned"
    ) => Effect.Effect<never>
  }
>()("@pontage/core/LaneLeases") {}

/** Leases for stores that no other process can open: this process holds every lane. */
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

/** The epoch of the sole holder. */
export const soleEpoch = 0
