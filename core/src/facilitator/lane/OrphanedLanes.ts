/**
 * Lanes on record whose signer is not configured any more, or whose whole network or scheme is not. Their transactions are watched to
 * their ends and nothing is signed; payments that were never sent, or that a foreign transaction has displaced for good, leave them.
 * A network that is not configured cannot be queried, and the payments of another scheme cannot be read: they stay as they are until
 * it is configured again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { Lease, LeaseLost } from "../store/LaneLeases.ts"
import type { PaymentStore } from "../store/PaymentStore.ts"
import * as TransactionCost from "../store/TransactionCost.ts"
import { leaving, longestRead } from "./LaneQueue.ts"
import type { LaneState } from "./LaneState.ts"
import { type RemainingWork, wasSent } from "./TrackedTransaction.ts"

/** A lane without its signer. */
export interface OrphanedLane {
  readonly name: string
  /** The signer's address; empty for a family without slots. */
  readonly address: string
  /** The scheme of its payments on its network; `undefined` if that is not configured. */
  readonly scheme: SchemeFacilitator | undefined
}

/** The pause between attempts to read the records. */
const pause = Duration.seconds(2)
/** The pause between looks into the queue of a lane whose network or scheme is not configured. */
const queuePause = Duration.seconds(5)
/** The most payments that leave a lane in one step. */
const atOnce = 500

/**
 * Finds the lanes that are in use on record and are not among these names. It waits for the store. If several processes share the
 * records, each with its own signers, other processes work some of these lanes.
 */
export const find = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  schemes: ReadonlyArray<SchemeFacilitator>,
  names: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<OrphanedLane>> {
  const used = yield* Effect.eventually(loudly(store.lanesInUse))
  return yield* Effect.forEach(
    used.filter((name) => !names.includes(name)),
    Effect.fnUntraced(function* (name): Effect.fn.Return<OrphanedLane> {
      const network = TransactionCost.networkOf(name)
      const address = TransactionCost.addressOf(name)
      const ofNetwork = schemes.filter((scheme) => scheme.network === network)
      const paid = yield* Effect.eventually(loudly(schemesIn(store, name)))
      // A transaction without payments, such as one that only used a number up, is the same for all schemes.
      const isReadable = ({ scheme }: SchemeFacilitator) => paid.size === 0 || paid.has(scheme.name)
      return { name, address, scheme: ofNetwork.find(isReadable) }
    })
  )
})

/** The names of the schemes whose payments are in a lane: one, as long as no other scheme has sent from its signer. */
const schemesIn = Effect.fnUntraced(function* (store: PaymentStore["Service"], lane: string) {
  const sent = (yield* store.openTransactions(lane)).flatMap(({ payments }) => payments)
  const payments = sent.length > 0 ? sent : yield* store.queued(lane, 1)
  return new Set(payments.map(({ requirements }) => requirements.scheme))
})

/** Logs a failure, and waits before the next attempt. */
const loudly = <A>(query: Effect.Effect<A, FacilitatorUnavailable>) =>
  Effect.tapError(query, ({ message }) =>
    Effect.andThen(Effect.logWarning(`the query for the lanes on record failed: ${message}`), Effect.sleep(pause))
  )

/** Logs that this process watches such a lane. */
export const logWatch = ({ name, scheme }: OrphanedLane): Effect.Effect<void> =>
  Effect.logWarning(
    scheme === undefined
      ? `the lane ${name} is on record and its network or its payments' scheme is not configured any more: they have no end until it is configured again`
      : `the lane ${name} is on record and its signer is not configured any more: its transactions are watched, and nothing is signed for it`
  )

/** The note and the exit of a payment that leaves such a lane. */
export const withoutSigner = ["its lane has no signer any more; nothing was sent", "signer_missing"] as const

/** The same of a payment whose transaction a foreign one has displaced for good. */
export const displacedWithoutSigner = [
  "a foreign transaction has used its slot for good, and its lane has no signer any more",
  "signer_missing"
] as const

/**
 * Reads which transactions the lane's waiting payments were sent in. If one look does not read the whole queue, they stay unknown:
 * payments that were never sent leave it meanwhile.
 */
export const awaited = Effect.fnUntraced(function* ({
  lease,
  setAsidePayments,
  store
}: LaneState): Effect.fn.Return<RemainingWork["awaited"], FacilitatorUnavailable> {
  const limit = longestRead + setAsidePayments.size
  const queued = yield* store.queued(lease.lane, limit)
  return queued.length < limit ? new Set(queued.filter(wasSent).map(({ transaction }) => transaction)) : undefined
})

/** Takes payments that were never sent out of a lane whose network or scheme is not configured, as long as the lease holds. */
export const release = (store: PaymentStore["Service"], lease: Lease): Effect.Effect<void> => {
  const round: Effect.Effect<void, FacilitatorUnavailable | LeaseLost> = Effect.gen(function* () {
    const unsent = (yield* store.queued(lease.lane, atOnce)).filter((one) => !wasSent(one))
    const changes = unsent.map((one) => leaving(one, ...withoutSigner))
    if (unsent.length > 0) yield* store.record(lease, { changes })
  })
  const rounds = Effect.repeat(
    Effect.catch(round, ({ message }) =>
      Effect.logDebug(`the lane ${lease.lane} could not be emptied: ${message}`)
    ).pipe(Effect.andThen(Effect.sleep(queuePause))),
    { while: () => lease.isValid() }
  )
  return Effect.asVoid(rounds)
}
