/**
 * The order of payments through a channel: one after the other, in a process by a queue and among the tabs that share a journal by
 * a mark. Two vouchers at once would allow to claim the same amount, and a shop takes only one of them.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { JournalUnavailable, PaymentJournal } from "./PaymentJournal.ts"

type Journal = PaymentJournal["Service"]

/** Milliseconds between two looks whether another tab has ended its payment. */
const markPause = 50

interface Queue {
  readonly semaphore: Semaphore.Semaphore
  length: number
}

const queuesOf = new WeakMap<Journal, Map<string, Queue>>()

/** Runs a payment through the channel of this id when all earlier ones have ended. */
export const alone = <A, E>(
  journal: Journal,
  channelId: string,
  payment: Effect.Effect<A, E>
): Effect.Effect<A, E | JournalUnavailable> =>
  Effect.suspend(() => {
    const queues = queuesOf.get(journal) ?? new Map<string, Queue>()
    queuesOf.set(journal, queues)
    const queue = queues.get(channelId) ?? { semaphore: Semaphore.makeUnsafe(1), length: 0 }
    queues.set(channelId, queue)
    queue.length++
    const turn = Effect.acquireUseRelease(
      Effect.interruptible(marked(journal, channelId)),
      () => payment,
      () => journal.marks.letGo(channelId)
    )
    return Effect.ensuring(
      queue.semaphore.withPermits(1)(turn),
      Effect.sync(() => {
        if (--queue.length === 0) queues.delete(channelId)
      })
    )
  })

const marked = Effect.fnUntraced(function* ({ marks }: Journal, channelId: string) {
  while (!(yield* marks.take(channelId))) yield* Effect.sleep(markPause)
})
