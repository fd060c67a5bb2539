/**
 * Tells callers of the ends of their payments. The store hands out what is to be told, each to one process at a time, and
 * keeps it until it was told: at least once, also across crashes. A receiver that fails is asked by one request at a time
 * and less and less often, so that it takes nothing from the others; after three days an end is told no more.
 */
import { type FacilitatorUnavailable, PaymentStore } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import type { CallerTerms, WebhookTerms } from "./CallerTerms.ts"
import * as WebhookBody from "./WebhookBody.ts"
import * as WebhookMetrics from "./WebhookMetrics.ts"
import * as WebhookPost from "./WebhookPost.ts"
import * as WebhookSignature from "./WebhookSignature.ts"

/**
 * Whom to tell, and how.
 *
 * @category models
 */
export interface Options {
  readonly callers: ReadonlyArray<CallerTerms>
  /** Whether webhooks may go to private networks, and by plain http. */
  readonly allowPrivate: boolean
}

/** How often it is looked for something to tell. */
const pause = "1 second"

/** Requests under way at most, in all and for one receiver. */
const widest = 64
const widestForOne = 8

/** Longer than a request can take: while one is under way, nobody else tells the same. */
const takenMillis = 60_000

const firstRetryMillis = 2000
const longestRetryMillis = 3_600_000
const postponedMillis = 5000
const lifetimeMillis = 3 * 24 * 3_600_000

/**
 * When an end that could not be told is told again, in milliseconds from now, after so many attempts.
 *
 * @category getters
 */
export const retryAfterMillis = (attempts: number): number =>
  Math.min(longestRetryMillis, firstRetryMillis * 2 ** Math.min(attempts, 20))

/**
 * Delivers as long as the layer lives. Without a caller that wants to be told there is nothing to do.
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<never, never, PaymentStore.PaymentStore> =>
  options.callers.every(({ webhook }) => webhook === undefined)
    ? Layer.empty
    : Layer.effectDiscard(
        Effect.gen(function* () {
          const store = yield* PaymentStore.PaymentStore
          const fibers = yield* FiberSet.make()
          yield* Effect.forkScoped(work(makeOffice(store, options), fibers))
        })
      )

type Store = PaymentStore.PaymentStore["Service"]

/** A receiver: how many requests to it are under way, and whether the last one failed. */
interface Receiver {
  readonly terms: WebhookTerms
  underWay: number
  failing: boolean
}

interface Office {
  readonly store: Store
  readonly receivers: ReadonlyMap<string, Receiver>
  readonly allowPrivate: boolean
  /** Ends that could not be told yet, and when they were reached. */
  readonly untold: Map<string, number>
}

const makeOffice = (store: Store, { allowPrivate, callers }: Options): Office => ({
  store,
  allowPrivate,
  untold: new Map(),
  receivers: new Map(
    callers.flatMap(({ name, webhook }) =>
      webhook === undefined ? [] : [[name, { terms: webhook, underWay: 0, failing: false }]]
    )
  )
})

const work = Effect.fnUntraced(function* (office: Office, fibers: FiberSet.FiberSet) {
  while (true) {
    const free = widest - (yield* FiberSet.size(fibers))
    const notices = free === 0 ? [] : yield* Effect.catch(office.store.takeNotices(free, takenMillis), troubled)
    for (const notice of notices) yield* FiberSet.run(fibers, deliver(office, notice))
    yield* WebhookMetrics.untold(office.untold.values(), yield* Clock.currentTimeMillis)
    if (free === 0 || notices.length < free) yield* Effect.sleep(pause)
    else yield* Effect.yieldNow
  }
})

const troubled = ({ message }: FacilitatorUnavailable): Effect.Effect<ReadonlyArray<PaymentStore.Notice>> =>
  Effect.as(Effect.logWarning(`webhooks wait: ${message}`), [])

const deliver = Effect.fnUntraced(
  function* (office: Office, notice: PaymentStore.Notice) {
    const receiver = office.receivers.get(notice.payment.caller)
    if (receiver === undefined) return yield* failed(office, notice, "its caller has no webhook any more")
    if (receiver.underWay >= (receiver.failing ? 1 : widestForOne)) return yield* postpone(office, notice)
    const reception = yield* Effect.acquireUseRelease(
      Effect.sync(() => (receiver.underWay += 1)),
      () => post(office, receiver.terms, notice),
      () => Effect.sync(() => (receiver.underWay -= 1))
    )
    const isTold = "status" in reception && reception.status >= 200 && reception.status <= 299
    receiver.failing = !isTold
    if (!isTold) return yield* failed(office, notice, reasonOf(reception))
    office.untold.delete(notice.id)
    yield* office.store.closeNotice(notice.id)
    yield* WebhookMetrics.attempted("told")
  },
  Effect.catch(({ message }) => Effect.logWarning(`a webhook will be sent again: ${message}`))
)

const post = Effect.fnUntraced(function* (
  { allowPrivate }: Office,
  { secret, url }: WebhookTerms,
  notice: PaymentStore.Notice
) {
  const now = yield* Clock.currentTimeMillis
  const body = WebhookBody.fromNotice(notice, now)
  return yield* WebhookPost.send({
    url: new URL(Redacted.value(url)),
    allowPrivate,
    body,
    headers: {
      [WebhookSignature.header]: WebhookSignature.sign(Redacted.value(secret), body, Math.floor(now / 1000))
    }
  })
})

const reasonOf = (reception: WebhookPost.Reception): string =>
  "status" in reception ? `it answered ${reception.status}` : reception.trouble

/** Its receiver is busy with others: that is no attempt. */
const postpone = Effect.fnUntraced(function* ({ store, untold }: Office, { at, id }: PaymentStore.Notice) {
  untold.set(id, at)
  yield* store.closeNotice(id, (yield* Clock.currentTimeMillis) + postponedMillis)
  yield* WebhookMetrics.attempted("postponed")
})

const failed = Effect.fnUntraced(function* ({ store, untold }: Office, notice: PaymentStore.Notice, reason: string) {
  const { at, attempts, id, payment } = notice
  const now = yield* Clock.currentTimeMillis
  const what = `the webhook of ${payment.caller} for ${payment.paymentId} (${notice.status})`
  if (now - at > lifetimeMillis) {
    untold.delete(id)
    yield* store.closeNotice(id)
    yield* Effect.logError(`${what} is given up: ${reason}`)
    return yield* WebhookMetrics.attempted("given_up")
  }
  untold.set(id, at)
  yield* store.closeNotice(id, now + retryAfterMillis(attempts))
  yield* Effect.logWarning(`${what} will be sent again: ${reason}`)
  yield* WebhookMetrics.attempted("failed")
})
