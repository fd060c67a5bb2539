/** The state of a memory store, and the one way to change a payment in it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as MemoryBooks from "./MemoryBooks.ts"
import * as MemoryLanes from "./MemoryLanes.ts"
import * as MemoryRecords from "./MemoryRecords.ts"
import * as PaymentChange from "./PaymentChange.ts"
import { noticesTopic, type StoredPayment } from "./PaymentStore.ts"
import type { Signals } from "./Signals.ts"

/** The state. JavaScript runs one synchronous step at a time, so a step that never suspends is atomic. */
export interface MemoryState {
  readonly records: MemoryRecords.MemoryRecords
  readonly lanes: MemoryLanes.MemoryLanes
  readonly costs: MemoryBooks.MemoryCosts
  readonly notices: MemoryBooks.MemoryNotices
  readonly put: (payment: StoredPayment, now: number) => StoredPayment
  /** Runs a step at once, with the time (Unix milliseconds). Listeners are notified after it. */
  readonly step: <A>(body: (now: number) => A) => Effect.Effect<A>
}

/** An empty state. */
export const make = (signals: Signals): MemoryState => {
  const records = MemoryRecords.make()
  const lanes = MemoryLanes.make()
  const costs = MemoryBooks.makeCosts()
  const notices = MemoryBooks.makeNotices()
  const topics = new Set<string>()

  const put = (payment: StoredPayment, now: number) => {
    const before = records.find(payment.paymentId)
    records.put(payment)
    if (PaymentChange.isActionable(before, payment)) topics.add(payment.paymentId)
    if (lanes.follow(before, payment) && payment.lane !== undefined) topics.add(payment.lane)
    if (notices.follow(before, payment, now)) topics.add(noticesTopic)
    return payment
  }
  const ring = () => {
    const rung = [...topics]
    topics.clear()
    for (const topic of rung) signals.notify(topic)
  }
  const step: MemoryState["step"] = (body) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const result = body(now)
      ring()
      return result
    })

  return { records, lanes, costs, notices, put, step }
}
