/**
 * The pushes of deliveries. A push is a record of its own on the other network, named by its message and the number of its attempt:
 * however often it is asked for, and by whichever process, it exists once, and its lane records it before it is sent.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import * as PaymentId from "../../protocol/PaymentId.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { isDead } from "../../protocol/Settlement.ts"
import type { Push } from "../../scheme/Onward.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { LaneChoice } from "../queue/LaneChoice.ts"
import * as Delivery from "../store/Delivery.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import type { PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"

/** The services that pushes need. */
export interface PushContext {
  readonly store: PaymentStore["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly choice: LaneChoice
}

/** The most pushes of one delivery. Each further one begins only after the chain has proven that the last one failed. */
export const attemptsAtMost = 5
/** More than any balance: no payer's balance is reserved for a push. */
const plenty = 2n ** 256n
/** The pause before a push that left its lane is put into one again: longer each time, since each time adds a line to its record. */
const firstPause = Duration.toMillis("2 seconds")
const longestPause = Duration.toMillis("1 hour")

/** The last push of a delivery: its number, and its record if there is one. */
export interface LastPush {
  readonly attempt: number
  readonly stored: StoredPayment | undefined
}

/** The last push of this payment's delivery, as it is on record now. */
export const lastOf = (
  { store }: PushContext,
  { delivery }: StoredPayment
): Effect.Effect<LastPush, FacilitatorUnavailable> => {
  const push = delivery?.push
  return push === undefined
    ? Effect.succeed({ attempt: 0, stored: undefined })
    : Effect.map(store.find(push.paymentId), (stored) => ({ attempt: push.attempt, stored }))
}

/** The number of the push that is to be made, or that is being made. */
export const attemptOf = ({ attempt, stored }: LastPush): number =>
  stored === undefined || isDead(stored.status) ? attempt + 1 : attempt

/** Makes the push of this number, or waits for the one on record. Returns what is to be recorded about it. */
export const push = Effect.fnUntraced(function* (
  context: PushContext,
  delivered: StoredPayment,
  last: LastPush,
  { payload, requirements }: Push
): Effect.fn.Return<Delivery.DeliveryReport, FacilitatorUnavailable> {
  const attempt = attemptOf(last)
  if (last.stored !== undefined && attempt === last.attempt) return yield* awaited(context, last.stored)
  if (attempt > attemptsAtMost)
    return stuck(`all ${attemptsAtMost} pushes failed; the last one is ${last.stored?.paymentId ?? "forgotten"}`)
  const scheme = context.schemes.find(
    (one) => one.scheme.name === requirements.scheme && one.scheme.network(requirements.network) === one.network
  )
  if (scheme === undefined) {
    return stuck(
      `nobody has delivered it, and it is not pushed here: this facilitator does not settle "${requirements.scheme}" on ${requirements.network}`
    )
  }
  const offer = Delivery.offerOfPush({ ...requirements, network: scheme.network }, delivered.paymentId)
  const reading = yield* Effect.result(scheme.read(offer, payload))
  if (reading._tag === "Failure") return stuck(`its push cannot be read: ${reading.failure.message}`)
  const { authorization } = reading.success
  const paymentId = yield* PaymentId.make(scheme.network, authorization)
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
  if (result._tag !== "Claimed") return stuck(`another payment has the name of its push, ${paymentId}`)
  return {
    _tag: "Undelivered",
    status: "pending",
    detail: `push ${attempt} is ${paymentId}`,
    push: { paymentId, attempt }
  }
})

const stuck = (detail: string): Delivery.DeliveryReport => ({ _tag: "Undelivered", status: "stuck", detail })

/** A push that left its lane before it was sent is put into one again. */
const awaited = Effect.fnUntraced(function* (
  { choice, schemes, store }: PushContext,
  stored: StoredPayment
): Effect.fn.Return<Delivery.DeliveryReport, FacilitatorUnavailable> {
  const { history, paymentId, requirements } = stored
  const scheme = schemes.find(
    ({ network, scheme: { name } }) => network === requirements.network && name === requirements.scheme
  )
  const last = history.at(-1)
  if (
    PaymentChange.isUnwanted(stored) &&
    scheme !== undefined &&
    (yield* store.now) >= (last?.at ?? 0) + pauseOf(stored)
  ) {
    yield* store.queue(paymentId, yield* choice.laneFor(scheme), { available: plenty })
  }
  const note = last?.note === undefined ? "" : `: ${last.note}`
  return { _tag: "Undelivered", status: "pending", detail: `its push ${paymentId} is ${stored.status}${note}` }
})

const pauseOf = ({ history }: StoredPayment): number =>
  Math.min(longestPause, firstPause * 2 ** Math.min(history.length / 2, 20))
