/**
 * Lanes on record whose signer is not configured any more, or whose whole network is not. Their transactions are watched to their
 * ends without anything being signed, and payments that were never sent leave them. Of a network that is not configured nothing
 * can be asked: its payments stay as they are until it is configured again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { Lease, LeaseLost } from "../store/LaneLeases.ts"
import type { StateChange, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as TransactionCost from "../store/TransactionCost.ts"
import { wasSent } from "./TrackedTransaction.ts"

/** A lane without its signer. `half` is the network's, where that is configured. */
export interface OrphanedLane {
  readonly name: string
  /** The signer's address; empty for a family without slots. */
  readonly address: string
  readonly scheme: SchemeFacilitator | undefined
}

/** Between attempts to ask the records. */
const pause = Duration.seconds(2)
/** Between looks into the queue of a lane whose network is not configured. */
const queuePause = Duration.seconds(5)
/** So many payments leave a lane in one step. */
const atOnce = 500

/**
 * Lanes that are in use on record and not among these names. It waits for the records. Where several processes share them, each
 * with signers of its own, some of these lanes are worked elsewhere.
 */
export const find = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  schemes: ReadonlyArray<SchemeFacilitator>,
  names: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<OrphanedLane>> {
  const asked = Effect.tapError(store.lanesInUse, ({ message }) =>
    Effect.andThen(Effect.logWarning(`the lanes on record cannot be asked for: ${message}`), Effect.sleep(pause))
  )
  const used = yield* Effect.eventually(asked)
  return used
    .filter((name) => !names.includes(name))
    .map((name): OrphanedLane => {
      const network = TransactionCost.networkOf(name)
      return {
        name,
        address: name.slice(network.length + 1),
        scheme: schemes.find((scheme) => scheme.network === network)
      }
    })
})

/** Says in the log that such a lane is watched from here. */
export const tell = ({ scheme, name }: OrphanedLane): Effect.Effect<void> =>
  Effect.logWarning(
    scheme === undefined
      ? `the lane ${name} is on record and its network is not configured any more: its payments have no end until it is configured again`
      : `the lane ${name} is on record and its signer is not configured any more: its transactions are watched, and nothing is signed for it`
  )

/**
 * The change by which a payment that was never sent leaves the lane: whoever asks for it again has it wait in another.
 */
export const released = ({ paymentId }: StoredPayment): StateChange => ({
  paymentId,
  from: ["accepted"],
  to: "accepted",
  leave: true,
  note: "its lane has no signer any more; nothing was sent",
  exit: "signer_missing"
})

/** Has payments that were never sent leave a lane whose network is not configured, as long as the lease holds. */
export const release = (store: PaymentStore["Service"], lease: Lease): Effect.Effect<void> => {
  const round: Effect.Effect<void, FacilitatorUnavailable | LeaseLost> = Effect.gen(function* () {
    const unsent = (yield* store.queued(lease.lane, atOnce)).filter((one) => !wasSent(one))
    if (unsent.length > 0) yield* store.record(lease, { changes: unsent.map(released) })
  })
  const rounds = Effect.repeat(
    Effect.catch(round, ({ message }) =>
      Effect.logDebug(`the lane ${lease.lane} could not be emptied: ${message}`)
    ).pipe(Effect.andThen(Effect.sleep(queuePause))),
    { while: () => lease.isValid() }
  )
  return Effect.asVoid(rounds)
}
