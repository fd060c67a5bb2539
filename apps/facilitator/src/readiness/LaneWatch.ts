/**
 * State of each lane by the records: waiting payments, transactions, progress, and the costs of settling. Every process shows
 * the same, whichever process works the lane.
 */
import { type FacilitatorUnavailable, type LaneAdmission, PaymentStore, type SchemeFacilitator } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as LaneMetrics from "../metrics/LaneMetrics.ts"
import type { LaneView } from "./ReadinessCheck.ts"

/**
 * Milliseconds after which a lane counts as standing still, if the same payment has been first in its queue and no
 * transaction has begun. Payments of callers with their own gas ceiling do not count: a payment over its ceiling has to wait,
 * and that is no reason to refuse the others. Expired payments whose slot a foreign transaction has used do not count either:
 * they wait for a final block that proves their outcome.
 */
export const standstillMillis = 60_000

const dayMillis = 24 * 3_600_000

/** Reads every lane, and remembers the first payment of each queue. */
export interface LaneWatch {
  readonly look: Effect.Effect<ReadonlyArray<LaneView>, FacilitatorUnavailable>
}

/** Payments read from the front of a queue. */
const depth = 16

interface Head {
  readonly mark: string
  /** Time at which it was first seen, in nanoseconds of the monotonic clock: the wall clock may be set meanwhile. */
  readonly since: bigint
}

/** Watches the lanes of these schemes. Callers in `budgeted` have their own gas ceiling, and a metric of their costs. */
export const make = (
  store: PaymentStore.PaymentStore["Service"],
  schemes: ReadonlyArray<SchemeFacilitator>,
  budgeted: ReadonlyArray<string>,
  admission?: LaneAdmission["Service"]
): LaneWatch => {
  const heads = new Map<string, Head>()
  const lanes = schemes.flatMap(({ lanes, network }) => lanes.map((address) => ({ network: String(network), address })))
  const networks = [...new Set(schemes.map(({ network }) => String(network)))]

  const isMoving = (lane: string, mark: string | undefined, now: bigint): boolean => {
    const known = heads.get(lane)
    if (mark !== undefined && known?.mark === mark) return now - known.since < BigInt(standstillMillis) * 1_000_000n
    if (mark === undefined) heads.delete(lane)
    else heads.set(lane, { mark, since: now })
    return true
  }

  const lookAt = Effect.fnUntraced(function* (place: LaneMetrics.Lane) {
    const lane = PaymentStore.LaneName(place.network, place.address)
    const loads = yield* store.loads([lane])
    const now = yield* Clock.currentTimeMillis
    const first = (yield* store.queued(lane, depth)).find(
      (payment) => !budgeted.includes(payment.caller) && !isConcluded(payment, now)
    )
    const transactions = yield* store.openTransactions(lane)
    const mark = first && `${first.paymentId} ${transactions.at(-1)?.number ?? ""}`
    const scheme = schemes.find(({ lanes, network }) => network === place.network && lanes.includes(place.address))
    const view: LaneView = {
      ...place,
      waiting: Math.max(0, (loads.get(lane) ?? 0) - paymentsIn(transactions)),
      transactions: transactions.length,
      // A lane without a signer in this process is not expected to move.
      moving: scheme === undefined || isMoving(lane, mark, yield* Clock.monotonicTimeNanos),
      gap: scheme === undefined ? 0 : yield* gapIn(scheme, place.address, transactions),
      signer: scheme !== undefined
    }
    const pending = transactions.filter(({ inclusion }) => inclusion === undefined).length
    yield* LaneMetrics.show(place, { ...view, pending })
    return view
  })

  const showCosts = Effect.fnUntraced(function* (network: string) {
    const since = (yield* Clock.currentTimeMillis) - dayMillis
    yield* LaneMetrics.showSpent(network, yield* store.spent(network, since))
    for (const caller of budgeted) {
      yield* LaneMetrics.showSpent(network, yield* store.spent(network, since, caller), caller)
    }
  })

  const capacities = admission === undefined ? Effect.void : LaneMetrics.showCapacities(admission)

  /** Lanes of the schemes, and lanes on record whose signers this process does not have. */
  const places = Effect.map(store.lanesInUse, (names): ReadonlyArray<LaneMetrics.Lane> => {
    const own = new Set(lanes.map(({ address, network }) => PaymentStore.LaneName(network, address)))
    const slotless = new Set(networks.map((network) => PaymentStore.LaneName(network, "")))
    const others = names.filter((name) => !own.has(name) && !slotless.has(name))
    return [...lanes, ...others.map(placeOf)]
  })

  return {
    look: Effect.andThen(capacities, Effect.forEach(networks, showCosts, { discard: true })).pipe(
      Effect.andThen(places),
      Effect.flatMap((all) => Effect.forEach(all, lookAt))
    )
  }
}

const placeOf = (lane: string): LaneMetrics.Lane => {
  const network = lane.slice(0, lane.indexOf(" "))
  return { network, address: lane.slice(network.length + 1) }
}

/** Upper bound of a counted gap. */
const longestGap = 1_000n

/** Numbers without a transaction between the chain's count and the last pending transaction; 0 if the chain does not respond. */
const gapIn = (
  scheme: SchemeFacilitator,
  address: string,
  transactions: ReadonlyArray<PaymentStore.LaneTransaction>
) => {
  const numbers = new Set(transactions.map(({ number }) => number))
  const last = transactions.findLast(({ inclusion }) => inclusion === undefined)?.number
  if (last === undefined) return Effect.succeed(0)
  return Effect.match(scheme.nextSlot(address, "included"), {
    onFailure: () => 0,
    onSuccess: (counted) => {
      let gap = 0
      const end = last < counted + longestGap ? last : counted + longestGap
      for (let number = counted; number < end; number++) if (!numbers.has(number)) gap++
      return gap
    }
  })
}

/** An expired payment that was sent before: the lane sends nothing more for it and waits for the chain's proof of its end. */
const isConcluded = ({ authorization, since }: PaymentStore.StoredPayment, now: number): boolean =>
  since !== undefined && authorization.validBefore * 1000 <= now

const paymentsIn = (transactions: ReadonlyArray<PaymentStore.LaneTransaction>): number =>
  transactions.flatMap(({ payments }) => payments).filter(({ status }) => status === "planned" || status === "sent")
    .length
