/**
 * Delivers a webhook for each end of a payment to its caller. The store hands out each notice to one process at a time and
 * keeps it until it is delivered: at least once, even across crashes. Each receiver has its own queue and its own limit of
 * open requests, so a dead or slow receiver does not delay the others; a finished request makes room for the next at once.
 * Notices are given up after three days, but not before an attempt has failed while their receiver may still respond.
 */
import { type FacilitatorUnavailable, PaymentStore } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import type { CallerTerms, WebhookTerms } from "../callers/CallerTerms.ts"
import * as WebhookMetrics from "../metrics/WebhookMetrics.ts"
import * as WebhookBody from "./WebhookBody.ts"
import * as WebhookPost from "./WebhookPost.ts"
import * as WebhookReceiver from "./WebhookReceiver.ts"
import * as WebhookSignature from "./WebhookSignature.ts"

/** Options of the deliveries. */
export interface Options {
  readonly callers: ReadonlyArray<CallerTerms>
  /** Whether webhooks may go to private networks, and by plain http. */
  readonly allowPrivate: boolean
}

/** Poll interval when no signal arrives. */
const pause = "1 second"

/** Milliseconds for which a notice belongs to one process: longer than a request, so that no other process sends the same. */
const takenMillis = 20_000

const firstRetryMillis = 2000
const longestRetryMillis = 3_600_000
const lifetimeMillis = 3 * 24 * 3_600_000

/** Interval at which the notices are counted and old ones are given up, and the size and pause of one step. */
const countPause = "15 seconds"
const givenUpAtOnce = 200
const givenUpPause = "100 millis"

/** Milliseconds until the next attempt, after this number of failed attempts. */
export const retryAfterMillis = (attempts: number): number =>
  Math.min(longestRetryMillis, firstRetryMillis * 2 ** Math.min(attempts, 20))

/**
 * Delivers as long as the layer lives. Without callers with webhooks it only gives up old notices of callers who had one.
 */
export const layer = (options: Options): Layer.Layer<never, never, PaymentStore.PaymentStore> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const store = yield* PaymentStore.PaymentStore
      const context = makeContext(store, yield* WebhookPost.make, options)
      yield* Effect.forkScoped(Effect.repeat(maintain(context), Schedule.spaced(countPause)))
      if (context.receivers.size === 0) return
      const fibers = yield* FiberSet.make()
      const stop = store.signals.subscribe(PaymentStore.noticesTopic, () => context.wake.openUnsafe())
      yield* Effect.addFinalizer(() => Effect.sync(stop))
      yield* Effect.forkScoped(Effect.forever(round(context, fibers)))
    })
  )

type Store = PaymentStore.PaymentStore["Service"]

interface Context {
  readonly store: Store
  readonly send: WebhookPost.Send
  readonly receivers: ReadonlyMap<string, WebhookReceiver.WebhookReceiver>
  readonly allowPrivate: boolean
  /** Open when there may be a notice, and a receiver with room for it. */
  readonly wake: Latch.Latch
  /** Position of the receiver with room that comes first. */
  turn: number
}

const makeContext = (store: Store, send: WebhookPost.Send, { allowPrivate, callers }: Options): Context => {
  const wanting = callers.flatMap(({ name, webhook }) => (webhook === undefined ? [] : [{ name, webhook }]))
  return {
    store,
    send,
    allowPrivate,
    wake: Latch.makeUnsafe(),
    turn: 0,
    receivers: new Map(
      wanting.map(({ name, webhook }) => [name, WebhookReceiver.make(webhook, wanting.length)] as const)
    )
  }
}

/** Takes as many notices as the receivers have room for, and waits for a signal. */
const round = Effect.fnUntraced(function* (context: Context, fibers: FiberSet.FiberSet) {
  const { wake, receivers, store } = context
  wake.closeUnsafe()
  const now = yield* Clock.monotonicTimeNanos
  const open = [...receivers].flatMap(([name, receiver]) => {
    const free = WebhookReceiver.room(receiver, now)
    return free > 0 ? [[name, free] as const] : []
  })
  // The number of notices taken at once is bounded, so each round begins with another receiver.
  context.turn = (context.turn + 1) % Math.max(1, open.length)
  const room = new Map([...open.slice(context.turn), ...open.slice(0, context.turn)])
  const notices = room.size === 0 ? [] : yield* Effect.catch(store.takeNotices(room, takenMillis), troubled)
  for (const notice of notices) {
    const receiver = receivers.get(notice.payment.caller)
    if (receiver !== undefined) yield* FiberSet.run(fibers, deliver(context, receiver, notice))
  }
  if (notices.length === 0) yield* Effect.raceFirst(wake.await, Effect.sleep(pause))
})

const troubled = ({ message }: FacilitatorUnavailable): Effect.Effect<ReadonlyArray<PaymentStore.Notice>> =>
  Effect.as(Effect.logWarning(`webhooks wait: ${message}`), [])

/** The receiver has room again once it has responded, before the store records that. */
const deliver = (context: Context, receiver: WebhookReceiver.WebhookReceiver, notice: PaymentStore.Notice) => {
  const { failures } = receiver
  receiver.open += 1
  return Effect.gen(function* () {
    const result = yield* Effect.ensuring(
      post(context, receiver.terms, notice),
      Effect.sync(() => {
        receiver.open -= 1
      })
    )
    const isDelivered = "status" in result && result.status >= 200 && result.status <= 299
    WebhookReceiver.note(receiver, isDelivered, failures, yield* Clock.monotonicTimeNanos)
    context.wake.openUnsafe()
    if (!isDelivered) return yield* failed(context, notice, reasonOf(result))
    yield* context.store.closeNotice(notice.id)
    yield* WebhookMetrics.attempted("delivered")
  }).pipe(Effect.catch(({ message }) => Effect.logWarning(`a webhook will be sent again: ${message}`)))
}

const post = Effect.fnUntraced(function* (
  { allowPrivate, send, store }: Context,
  { secret, url }: WebhookTerms,
  notice: PaymentStore.Notice
) {
  const now = yield* Clock.currentTimeMillis
  const body = WebhookBody.fromNotice(notice, yield* store.now)
  return yield* send({
    url: new URL(Redacted.value(url)),
    allowPrivate,
    body,
    headers: {
      [WebhookSignature.header]: WebhookSignature.sign(Redacted.value(secret), body, Math.floor(now / 1000))
    }
  })
})

const reasonOf = (result: WebhookPost.DeliveryResult): string =>
  "status" in result ? `it responded with ${result.status}` : result.trouble

const failed = Effect.fnUntraced(function* ({ store }: Context, notice: PaymentStore.Notice, reason: string) {
  const { attempts, id, payment } = notice
  yield* store.closeNotice(id, retryAfterMillis(attempts))
  yield* Effect.logWarning(
    `the webhook of ${payment.caller} for ${payment.paymentId} (${notice.status}) will be sent again: ${reason}`
  )
  yield* WebhookMetrics.attempted("failed")
})

/** Gives up old notices, including those of callers without a webhook now, and counts the remaining ones of all processes. */
const maintain = (context: Context) =>
  Effect.andThen(
    Effect.repeat(giveUpOld(context), {
      while: (count) => count === givenUpAtOnce,
      schedule: Schedule.spaced(givenUpPause)
    }),
    Effect.gen(function* () {
      yield* WebhookMetrics.backlogged(yield* context.store.noticeBacklog, yield* context.store.now)
    })
  ).pipe(Effect.catch(({ message }) => Effect.logWarning(`webhooks are not counted: ${message}`)))

/** After an outage of this service, or a clock that was set ahead, notices are old before their first attempt. */
const giveUpOld = Effect.fnUntraced(function* ({ receivers, store }: Context) {
  let total = 0
  const kept = new Set([...receivers].flatMap(([name, one]) => (WebhookReceiver.isLost(one) ? [] : [name])))
  for (const [caller, count] of yield* store.giveUpNotices(lifetimeMillis, givenUpAtOnce, kept)) {
    total += count
    const why = receivers.has(caller) ? "the receiver has accepted none of them" : "it has no webhook"
    yield* Effect.logError(
      `${count} webhooks of ${caller} are given up: they are older than ${lifetimeMillis / 86_400_000} days, and ${why}`
    )
    yield* WebhookMetrics.attempted("given_up", count)
  }
  return total
})
