/**
 * A payment store in this process's memory: for tests, demonstrations and first steps. Its records end with the
 * process. The chain still accepts no authorization twice, but an entitlement to a failed execution is forgotten.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { isSettled } from "../../protocol/Settlement.ts"
import type { Claim } from "../Facilitator.ts"
import * as Delivery from "./Delivery.ts"
import * as MemoryLaneWork from "./MemoryLaneWork.ts"
import { firstOf } from "./MemoryRecords.ts"
import * as MemoryState from "./MemoryState.ts"
import * as PaymentChange from "./PaymentChange.ts"
import * as PaymentStore from "./PaymentStore.ts"
import * as RecordAge from "./RecordAge.ts"
import * as Signals from "./Signals.ts"
import * as Stock from "./Stock.ts"

type Store = PaymentStore.PaymentStore["Service"]
type State = MemoryState.MemoryState
type Stored = PaymentStore.StoredPayment

/** Makes an empty store. */
export const make: Effect.Effect<Store> = Effect.sync(() => {
  const signals = Signals.make()
  const state = MemoryState.make(signals)
  return PaymentStore.PaymentStore.of({
    signals,
    now: Clock.currentTimeMillis,
    ...claims(state),
    ...MemoryLaneWork.make(state),
    ...books(state),
    ...deliveries(state),
    ...outbox(state),
    ...forgetting(state)
  })
})

/** The store as a layer. */
export const layer: Layer.Layer<PaymentStore.PaymentStore> = Layer.effect(PaymentStore.PaymentStore, make)

type ClaimMethods = "find" | "claim" | "queue" | "openPayments" | "finish" | "takeAnswer" | "returnAnswer"

const claims = (state: State): Pick<Store, ClaimMethods> => {
  const { put, records, step } = state
  return {
    find: (paymentId) => Effect.sync(() => records.find(paymentId)),
    claim: (payment, claim, intake = {}) =>
      step((now) => {
        const known = records.find(payment.paymentId)
        return known === undefined
          ? claimNew(state, payment, claim, intake, now)
          : kept(state, known, PaymentChange.claimed(known, payment, claim, now), intake, now)
      }),
    openPayments: (payment) => Effect.sync(() => records.openPayments(payment)),
    queue: (paymentId, lane, cover = {}) =>
      step((now) => {
        const known = records.find(paymentId)
        if (known?.status !== "accepted" || known.lane !== undefined) return { _tag: "Queued", payment: known }
        const queued = { ...known, lane }
        return overdrawn(state, known, queued, cover, now) ?? { _tag: "Queued", payment: put(queued, now) }
      }),
    finish: (paymentId, claimId, outcome, caller) =>
      step((now) => {
        const known = records.find(paymentId)
        if (known === undefined || (caller !== undefined && known.caller !== caller)) return undefined
        return put(PaymentChange.finished(known, claimId, outcome, now), now)
      }),
    takeAnswer: (paymentId, call) =>
      step((now) => {
        const known = records.find(paymentId)
        return (
          known !== undefined && PaymentChange.isAnsweredTo(put(PaymentChange.answerTaken(known, call, now), now), call)
        )
      }),
    returnAnswer: (paymentId, call) =>
      step((now) => {
        const known = records.find(paymentId)
        if (known !== undefined) put(PaymentChange.answerReturned(known, call), now)
      })
  }
}

/** The refusal if the record would begin to reserve more than the balance covers. */
const overdrawn = (
  { records }: State,
  before: Stored | undefined,
  after: Stored,
  cover: PaymentStore.Cover,
  now: number
): PaymentStore.Overdrawn | Stock.Unstocked | undefined => {
  if (!PaymentStore.beginsToReserve(before, after, now)) return undefined
  const reserved = records.reservedBy(after, cover.beside, now)
  return PaymentStore.isCovered(after, reserved, cover.available)
    ? unstocked(records.all(), after, cover, now)
    : { _tag: "Overdrawn", reserved }
}

/** The refusal if the operator's stock has no room for the payment's delivery beside the other draws. */
const unstocked = (
  all: Iterable<Stored>,
  { delivery, paymentId }: PaymentStore.NewPayment,
  { stock }: PaymentStore.Cover,
  now: number
): Stock.Unstocked | undefined => {
  const draw = delivery?.draw
  if (draw === undefined) return undefined
  const others = [...all].flatMap((other) => {
    const own = other.delivery?.draw
    const isBeside = own?.stock === draw.stock && other.paymentId !== paymentId && PaymentStore.draws(other, now)
    return own !== undefined && isBeside ? [own] : []
  })
  return Stock.judge(draw, others, stock, now)
}

const claimNew = (
  { lanes, notices, put, records }: State,
  payment: PaymentStore.NewPayment,
  claim: Claim | undefined,
  { lane, ...cover }: PaymentStore.Intake,
  now: number
): PaymentStore.ClaimResult => {
  const reserved = records.reservedBy(payment, cover.beside, now)
  if (!PaymentStore.isCovered(payment, reserved, cover.available)) return { _tag: "Overdrawn", reserved }
  const short = unstocked(records.all(), payment, cover, now)
  if (short !== undefined) return short
  records.sweep(now, (old) => lanes.isInOpenTransaction(old) || notices.isOpenFor(old))
  return {
    _tag: "Claimed",
    created: true,
    execution: claim && "granted",
    payment: put(PaymentChange.created(payment, claim, records.nextSerial(), lane, now), now)
  }
}

const kept = (
  state: State,
  known: Stored,
  result: PaymentStore.ClaimResult,
  cover: PaymentStore.Cover,
  now: number
): PaymentStore.ClaimResult => {
  if (result._tag !== "Claimed" || result.payment === known) return result
  const short = overdrawn(state, known, result.payment, cover, now)
  if (short === undefined) state.put(result.payment, now)
  return short ?? result
}

const books = ({
  costs,
  put,
  records,
  step
}: State): Pick<Store, "unwanted" | "endUnwanted" | "spent" | "page" | "probe"> => ({
  unwanted: (network, validBefore, limit, after) =>
    Effect.sync(() => {
      const over = [...records.all()].filter(
        (one) =>
          PaymentChange.isUnwanted(one) &&
          one.requirements.network === network &&
          one.authorization.validBefore < validBefore &&
          (after === undefined || comparePlaces(placeOf(one), after) > 0)
      )
      return over.toSorted((a, b) => comparePlaces(placeOf(a), placeOf(b))).slice(0, limit)
    }),
  endUnwanted: (unused) =>
    step((now) =>
      unused.flatMap((proof) => {
        const known = records.find(proof.paymentId)
        if (known === undefined || !PaymentChange.isUnwanted(known)) return []
        const ended = PaymentChange.changed(known, PaymentChange.endUnused(known, proof), now)
        put(ended, now)
        return [ended]
      })
    ),
  spent: (network, since, caller) => Effect.sync(() => costs.spent(network, since, caller)),
  page: (after, limit, caller) =>
    Effect.sync(() => {
      const later = [...records.all()].filter(
        (one) => one.serial > after && (caller === undefined || one.caller === caller)
      )
      return [...firstOf(later, limit)]
    }),
  probe: Effect.void
})

const deliveries = ({ put, records, step }: State): Pick<Store, "undelivered" | "deliver" | "openDeliveries"> => ({
  undelivered: (network, limit, after) =>
    Effect.sync(() => {
      const open = [...records.all()].filter(
        (one) => isUndelivered(one) && one.requirements.network === network && one.serial > after
      )
      return [...firstOf(open, limit)]
    }),
  deliver: (paymentId, report) =>
    step((now) => {
      const known = records.find(paymentId)
      const after = known && Delivery.reported(known, report, now)
      return after === known || after === undefined ? known : put(after, now)
    }),
  openDeliveries: Effect.sync(() =>
    Delivery.countsOf(
      [...records.all()]
        .filter(isUndelivered)
        .flatMap(({ delivery, requirements: { network } }) =>
          delivery === undefined ? [] : [{ from: network, to: delivery.network, status: delivery.status }]
        )
    )
  )
})

const isUndelivered = (one: Stored): boolean => isSettled(one.status) && Delivery.isOpen(one)

const placeOf = ({ authorization, serial }: Stored): PaymentStore.UnwantedPlace => ({
  validBefore: authorization.validBefore,
  serial
})

const comparePlaces = (a: PaymentStore.UnwantedPlace, b: PaymentStore.UnwantedPlace): number =>
  a.validBefore - b.validBefore || Number(a.serial - b.serial)

/** Kept records are passed over each time: they are few, since all others are forgotten. */
const forgetting = ({ lanes, notices, records, step }: State): Pick<Store, "forget"> => ({
  forget: (ageMillis, after, limit) =>
    step((now) => {
      let [count, looks] = [0, 0]
      let next: bigint | undefined
      for (const payment of records.all()) {
        if (payment.serial <= after) continue
        if (looks === limit) return { count, next }
        if (payment.serial === records.lastSerial() || RecordAge.isYoung(payment, now, ageMillis)) break
        looks += 1
        next = payment.serial
        const isNeeded = lanes.isInOpenTransaction(payment) || notices.isOpenFor(payment)
        if (isNeeded || !RecordAge.isForgettable(payment, now, ageMillis)) continue
        records.drop(payment)
        count += 1
      }
      return { count, next: undefined }
    })
})

const outbox = ({
  notices,
  records,
  step
}: State): Pick<Store, "takeNotices" | "closeNotice" | "giveUpNotices" | "noticeBacklog"> => ({
  takeNotices: (room, leaseMillis) => step((now) => notices.take(room, now + leaseMillis, now, records.find)),
  closeNotice: (id, retryInMillis) =>
    step((now) => notices.close(id, retryInMillis === undefined ? undefined : now + retryInMillis)),
  giveUpNotices: (ageMillis, limit, kept) => step((now) => notices.giveUp(now - ageMillis, limit, kept)),
  noticeBacklog: Effect.sync(() => notices.backlog())
})
