/**
 * The pushes of deliveries. A push is a record of its own on the other network, named by its message and the number of its attempt:
 * however often it is asked for, and by whichever process, it exists once, and its lane records it before it is sent.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"

import type { Authorization } from "../../protocol/Authorization.ts"
import * as PaymentId from "../../protocol/PaymentId.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { isDead } from "../../protocol/Settlement.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type { DeliveryObservation, Push } from "../../scheme/Onward.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { LaneChoice } from "../queue/LaneChoice.ts"
import * as Delivery from "../store/Delivery.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import type { ClaimResult, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"

/** The services that pushes need. */
export interface PushContext {
  readonly store: PaymentStore["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly choice: LaneChoice
}

/**
 * The most pushes of one delivery beside those that were never sent. Each further one begins only after the chain has proven that the last
 * one failed.
 */
export const attemptsAtMost = 5
/** More than any balance: no payer's balance is reserved for a push. */
const plenty = 2n ** 256n
/** The pause before a push that left its lane is put into one again: longer each time, since each time adds a line to its record. */
const firstPause = Duration.toMillis("2 seconds")
const longestPause = Duration.toMillis("1 hour")

/** The last push of a delivery: its number, its record if there is one, and its bytes as far as either record has them. */
export interface LastPush {
  readonly attempt: number
  /** The number of earlier ones that were never sent. */
  readonly unsent: number
  readonly stored: StoredPayment | undefined
  readonly kept: Push | undefined
}

/** The last push of this payment's delivery, as it is on record now. */
export const lastOf = Effect.fnUntraced(function* (
  { store }: PushContext,
  { delivery }: StoredPayment
): Effect.fn.Return<LastPush, FacilitatorUnavailable> {
  const push = delivery?.push
  if (push === undefined) return { attempt: 0, unsent: 0, stored: undefined, kept: undefined }
  const stored = yield* store.find(push.paymentId)
  const { kept = stored && { requirements: stored.requirements, payload: stored.payload } } = push
  return { attempt: push.attempt, unsent: push.unsent ?? 0, stored, kept }
})

/** The number of the push that is to be made, or that is being made. One whose bytes are on record is made with these. */
export const attemptOf = ({ attempt, kept, stored }: LastPush): number => {
  const isOver = stored === undefined ? kept === undefined : isDead(stored.status)
  return isOver ? attempt + 1 : attempt
}

/**
 * Makes the push of this number, or waits for the one on record. Returns what is to be recorded about it. One that is still to be signed is
 * signed last: a signature that is thrown away can hold all other payments of its account up.
 */
export const push = Effect.fnUntraced(function* (
  context: PushContext,
  delivered: StoredPayment,
  last: LastPush,
  observed: DeliveryObservation & { readonly _tag: "Ready" | "Unsigned" }
): Effect.fn.Return<Delivery.DeliveryReport, ChainUnavailable | FacilitatorUnavailable> {
  const isLastUnsent = observed._tag === "Unsigned" && observed.isLastUnsent === true
  // One whose bytes can never be used needs no record of its own.
  const isGone = last.stored === undefined && isLastUnsent
  const attempt = isGone ? last.attempt + 1 : attemptOf(last)
  if (last.stored !== undefined && attempt === last.attempt) {
    return isOutdated(last.stored, observed)
      ? yield* ended(context, last.stored, last.unsent)
      : yield* awaited(context, last.stored)
  }
  const isUnsent = isLastUnsent || (last.stored?.status === "rejected" && isRenewable(observed))
  const unsent = last.unsent + (isUnsent && attempt > last.attempt ? 1 : 0)
  const number = { attempt, unsent }
  if (attempt - unsent > attemptsAtMost)
    return stuck(`all ${attemptsAtMost} pushes failed; the last one is ${last.stored?.paymentId ?? "forgotten"}`)
  if (last.kept !== undefined && attempt === last.attempt) return yield* claimed(context, delivered, number, last.kept)
  if (observed._tag === "Ready" && observed.push.once !== true)
    return yield* claimed(context, delivered, number, observed.push)
  if (last.attempt > 0 && last.kept === undefined)
    return stuck(`no record has the bytes of its push ${last.attempt} any more, so nothing proves that it failed`)
  const signing = observed._tag === "Unsigned" ? yield* observed.sign : observed
  if (signing._tag !== "Ready") return signing._tag === "Underway" ? pending(signing.reason) : stuck(signing.reason)
  return yield* keptFirst(context, delivered, number, { last, observed: signing.push })
})

/** The number of a push, and of the earlier ones that were never sent. */
type PushNumber = Pick<Delivery.PushRecord, "attempt"> & { readonly unsent: number }

const recordOf = ({ attempt, unsent }: PushNumber, paymentId: string): Delivery.PushRecord => ({
  paymentId,
  attempt,
  ...(unsent > 0 && { unsent })
})

/** Records the bytes of a push with its delivery, and makes the push that is on record then, which may be another process's. */
const keptFirst = Effect.fnUntraced(function* (
  context: PushContext,
  delivered: StoredPayment,
  number: PushNumber,
  { last: { stored }, observed: { payload, requirements } }: { readonly last: LastPush; readonly observed: Push }
): Effect.fn.Return<Delivery.DeliveryReport, FacilitatorUnavailable> {
  const plan = yield* planOf(context, delivered, { payload, requirements })
  if (typeof plan === "string") return stuck(plan)
  // Its lane has given the last push up, and the chain would still make it.
  if (stored !== undefined && plan.paymentId === stored.paymentId)
    return pending(`${standingOf(stored)}; another one follows once the chain cannot make it any more`)
  const { attempt } = number
  const after = yield* context.store.deliver(delivered.paymentId, {
    _tag: "Undelivered",
    status: "pending",
    detail: `push ${attempt} is ${plan.paymentId}`,
    push: { ...recordOf(number, plan.paymentId), kept: { payload, requirements } }
  })
  yield* Checkpoint.pass("claimed")
  const recorded = after?.delivery?.push
  if (recorded?.kept === undefined || recorded.attempt !== attempt)
    return pending(`push ${attempt} was not recorded: another process makes it`)
  return yield* claimed(context, delivered, { attempt, unsent: recorded.unsent ?? 0 }, recorded.kept)
})

/** A push as a payment of its own. */
interface PushPlan {
  readonly scheme: SchemeFacilitator
  readonly offer: PaymentRequirements
  readonly authorization: Authorization
  readonly paymentId: string
}

/** The payment that a push is, or the reason why it is none here. */
const planOf = Effect.fnUntraced(function* (
  { schemes }: PushContext,
  delivered: StoredPayment,
  { payload, requirements }: Push
): Effect.fn.Return<PushPlan | string> {
  const scheme = schemes.find(
    (one) => one.scheme.name === requirements.scheme && one.scheme.network(requirements.network) === one.network
  )
  if (scheme === undefined) {
    return `nobody has delivered it, and it is not pushed here: this facilitator does not settle "${requirements.scheme}" on ${requirements.network}`
  }
  const offer = Delivery.offerOfPush({ ...requirements, network: scheme.network }, delivered.paymentId)
  const reading = yield* Effect.result(scheme.read(offer, payload))
  if (reading._tag === "Failure") return `its push cannot be read: ${reading.failure.message}`
  const { authorization } = reading.success
  return { scheme, offer, authorization, paymentId: yield* PaymentId.make(scheme.network, authorization) }
})

/** Makes the record of a push, in a lane. */
const claimed = Effect.fnUntraced(function* (
  context: PushContext,
  delivered: StoredPayment,
  number: PushNumber,
  { payload, requirements }: Push
): Effect.fn.Return<Delivery.DeliveryReport, FacilitatorUnavailable> {
  const plan = yield* planOf(context, delivered, { payload, requirements })
  if (typeof plan === "string") return stuck(plan)
  const { authorization, offer, paymentId, scheme } = plan
  const result = yield* context.store.claim(
    {
      paymentId,
      requirements: Presentation.canonical(scheme.scheme, offer),
      authorization,
      payload,
      caller: delivered.caller,
      notify: false
    },
    undefined,
    { lane: yield* context.choice.laneFor(scheme), available: plenty }
  )
  yield* Checkpoint.pass("claimed")
  if (result._tag !== "Claimed" && !isPushOf(result, delivered))
    return stuck(`another payment has the name of its push, ${paymentId}`)
  return {
    _tag: "Undelivered",
    status: "pending",
    detail: `push ${number.attempt} is ${paymentId}`,
    push: recordOf(number, paymentId)
  }
})

/** Whether a record of other bytes is this delivery's push all the same: the process that made it has not recorded its name. */
const isPushOf = (result: ClaimResult, { paymentId }: StoredPayment): boolean =>
  result._tag === "Different" && Delivery.deliveredBy(result.payment.requirements) === paymentId

const stuck = (detail: string): Delivery.DeliveryReport => ({ _tag: "Undelivered", status: "stuck", detail })
const pending = (detail: string): Delivery.DeliveryReport => ({ _tag: "Undelivered", status: "pending", detail })

/** A push that left its lane before it was sent is put into one again. */
const awaited = Effect.fnUntraced(function* (
  { choice, schemes, store }: PushContext,
  stored: StoredPayment
): Effect.fn.Return<Delivery.DeliveryReport, FacilitatorUnavailable> {
  const { paymentId, requirements } = stored
  const scheme = schemes.find(
    ({ network, scheme: { name } }) => network === requirements.network && name === requirements.scheme
  )
  if (PaymentChange.isUnwanted(stored) && scheme !== undefined && isRested(stored, yield* store.now)) {
    yield* store.queue(paymentId, yield* choice.laneFor(scheme), { available: plenty })
  }
  return pending(standingOf(stored))
})

const isRenewable = (observed: DeliveryObservation): boolean =>
  observed._tag === "Ready" && observed.push.renewable === true

/** Whether a push was refused before it was in any transaction, and other bytes make the same delivery now. */
const isOutdated = (stored: StoredPayment, observed: DeliveryObservation): boolean =>
  observed._tag === "Ready" &&
  isRenewable(observed) &&
  PaymentChange.isUnwanted(stored) &&
  stored.since === undefined &&
  stored.history.at(-1)?.exit === "payment_refused" &&
  !Equal.equals(observed.push.payload, stored.payload)

/**
 * Ends a push that can only be refused. Its end is recorded before the next one is made: no process puts it into a lane again, and the next
 * one has its number from the records alone.
 */
const ended = Effect.fnUntraced(function* (
  { store }: PushContext,
  stored: StoredPayment,
  unsent: number
): Effect.fn.Return<Delivery.DeliveryReport, FacilitatorUnavailable> {
  if (isRested(stored, yield* store.now, unsent))
    yield* store.endUnwanted([{ paymentId: stored.paymentId, reason: outdated }])
  return pending(`${standingOf(stored)}; one with other bytes follows`)
})

const outdated = invalid(
  "unsupported_authorization",
  "push_outdated",
  "the other network takes it no more, and takes another one for the same delivery"
)

/** The state of a push, with the last note on record. */
const standingOf = ({ history, paymentId, status }: StoredPayment): string => {
  const note = history.at(-1)?.note
  return `its push ${paymentId} is ${status}${note === undefined ? "" : `: ${note}`}`
}

/** Whether a push is out of its lane for long enough. Each earlier one that was never sent (`unsent`) makes the pause longer. */
const isRested = (stored: StoredPayment, now: number, unsent = 0): boolean =>
  // A clock that is behind the record by more than the pause was set back, and would prolong the pause by as much.
  Math.abs(now - (stored.history.at(-1)?.at ?? 0)) >= pauseOf(stored, unsent)

const pauseOf = ({ history }: StoredPayment, unsent: number): number =>
  Math.min(longestPause, firstPause * 2 ** Math.min(history.length / 2 + unsent, 20))
