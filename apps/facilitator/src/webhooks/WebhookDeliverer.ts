/**
 * Tells callers of the ends of their payments. The store hands out what is to be told, each to one process at a time, and
 * keeps it until it was told: at least once, also across crashes. Each receiver has a queue and room of its own, so that one
 * that is dead or slow takes nothing from the others; a finished request makes room for the next one at once. After three
 * days an end is told no more.
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

/** Whom to tell, and how. */
export interface Options {
  readonly callers: ReadonlyArray<CallerTerms>
  /** Whether webhooks may go to private networks, and by plain http. */
  readonly allowPrivate: boolean
}

/** How often it is looked for something to tell without a hint. */
const pause = "1 second"

/** Longer than a request can take: while one is under way, nobody else tells the same. */
const takenMillis = 20_000

const firstRetryMillis = 2000
const longestRetryMillis = 3_600_000
const lifetimeMillis = 3 * 24 * 3_600_000

/** How often the notices are counted, and those that are too old given up: so many in one step. */
const countPause = "15 seconds"
const givenUpAtOnce = 200
const givenUpPause = "100 millis"

/** When an end that could not be told is told again, in milliseconds from now, after so many attempts. */
export const retryAfterMillis = (attempts: number): number =>
  Math.min(longestRetryMillis, firstRetryMillis * 2 ** Math.min(attempts, 20))

/**
 * Delivers as long as the layer lives. Where no caller wants to be told, what is left of those who did is looked after.
 */
export const layer = (options: Options): Layer.Layer<never, never, PaymentStore.PaymentStore> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const store = yield* PaymentStore.PaymentStore
      const office = makeOffice(store, yield* WebhookPost.make, options)
      yield* Effect.forkScoped(Effect.repeat(lookAfter(office), Schedule.spaced(countPause)))
      if (office.receivers.size === 0) return
      const fibers = yield* FiberSet.make()
      const stop = store.signals.subscribe(PaymentStore.noticesTopic, () => office.bell.openUnsafe())
      yield* Effect.addFinalizer(() => Effect.sync(stop))
      yield* Effect.forkScoped(Effect.forever(round(office, fibers)))
    })
  )

type Store = PaymentStore.PaymentStore["Service"]

interface Office {
  readonly store: Store
  readonly send: WebhookPost.Send
  readonly receivers: ReadonlyMap<string, WebhookReceiver.WebhookReceiver>
  readonly allowPrivate: boolean
  /** Open when there may be something to tell, and room for it. */
  readonly bell: Latch.Latch
  /** Which of the receivers with room comes first. */
  turn: number
}

const makeOffice = (store: Store, send: WebhookPost.Send, { allowPrivate, callers }: Options): Office => {
  const wanting = callers.flatMap(({ name, webhook }) => (webhook === undefined ? [] : [{ name, webhook }]))
  return {
    store,
    send,
    allowPrivate,
    bell: Latch.makeUnsafe(),
    turn: 0,
    receivers: new Map(
      wanting.map(({ name, webhook }) => [name, WebhookReceiver.make(webhook, wanting.length)] as const)
    )
  }
}

/** Takes as much as the receivers have room for, and waits for a hint. */
const round = Effect.fnUntraced(function* (office: Office, fibers: FiberSet.FiberSet) {
  const { bell, receivers, store } = office
  bell.closeUnsafe()
  const now = yield* Clock.monotonicTimeNanos
  const open = [...receivers].flatMap(([name, receiver]) => {
    const free = WebhookReceiver.room(receiver, now)
    return free > 0 ? [[name, free] as const] : []
  })
  // Another one comes first each time: what is taken at once is bounded.
  office.turn = (office.turn + 1) % Math.max(1, open.length)
  const room = new Map([...open.slice(office.turn), ...open.slice(0, office.turn)])
  const notices = room.size === 0 ? [] : yield* Effect.catch(store.takeNotices(room, takenMillis), troubled)
  for (const notice of notices) {
    const receiver = receivers.get(notice.payment.caller)
    if (receiver !== undefined) yield* FiberSet.run(fibers, deliver(office, receiver, notice))
  }
  if (notices.length === 0) yield* Effect.raceFirst(bell.await, Effect.sleep(pause))
})

const troubled = ({ message }: FacilitatorUnavailable): Effect.Effect<ReadonlyArray<PaymentStore.Notice>> =>
  Effect.as(Effect.logWarning(`webhooks wait: ${message}`), [])

/** The receiver has room again as soon as it has answered, before that is written down. */
const deliver = (office: Office, receiver: WebhookReceiver.WebhookReceiver, notice: PaymentStore.Notice) => {
  const { failures } = receiver
  receiver.underWay += 1
  return Effect.gen(function* () {
    const reception = yield* Effect.ensuring(
      post(office, receiver.terms, notice),
      Effect.sync(() => {
        receiver.underWay -= 1
      })
    )
    const isTold = "status" in reception && reception.status >= 200 && reception.status <= 299
    WebhookReceiver.note(receiver, isTold, failures, yield* Clock.monotonicTimeNanos)
    office.bell.openUnsafe()
    if (!isTold) return yield* failed(office, notice, reasonOf(reception))
    yield* office.store.closeNotice(notice.id)
    yield* WebhookMetrics.attempted("told")
  }).pipe(Effect.catch(({ message }) => Effect.logWarning(`a webhook will be sent again: ${message}`)))
}

const post = Effect.fnUntraced(function* (
  { allowPrivate, send, store }: Office,
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

const reasonOf = (reception: WebhookPost.Reception): string =>
  "status" in reception ? `it answered ${reception.status}` : reception.trouble

const failed = Effect.fnUntraced(function* ({ store }: Office, notice: PaymentStore.Notice, reason: string) {
  const { attempts, id, payment } = notice
  yield* store.closeNotice(id, retryAfterMillis(attempts))
  yield* Effect.logWarning(
    `the webhook of ${payment.caller} for ${payment.paymentId} (${notice.status}) will be sent again: ${reason}`
  )
  yield* WebhookMetrics.attempted("failed")
})

/** Gives up what is too old, also of callers who have no webhook any more, and counts what is left for all processes. */
const lookAfter = ({ store }: Office) =>
  Effect.andThen(
    Effect.repeat(giveUp(store), {
      while: (count) => count === givenUpAtOnce,
      schedule: Schedule.spaced(givenUpPause)
    }),
    Effect.gen(function* () {
      yield* WebhookMetrics.untold(yield* store.noticeBacklog, yield* store.now)
    })
  ).pipe(Effect.catch(({ message }) => Effect.logWarning(`webhooks are not counted: ${message}`)))

const giveUp = Effect.fnUntraced(function* (store: Store) {
  let total = 0
  for (const [caller, count] of yield* store.giveUpNotices(lifetimeMillis, givenUpAtOnce)) {
    total += count
    yield* Effect.logError(
      `${count} webhooks of ${caller} are given up: they were not taken within ${lifetimeMillis / 86_400_000} days`
    )
    yield* WebhookMetrics.attempted("given_up", count)
  }
  return total
})
