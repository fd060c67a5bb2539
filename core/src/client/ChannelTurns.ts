/**
 * The order of payments through a channel: one after the other, in a process by a queue and among the tabs that share a journal by
 * a mark. Two vouchers at once would allow to claim the same amount, and a shop takes only one of them. Each host has turns of its own:
 * anybody may copy the offer of a shop, and a response that never comes would hold up the shop's channel.
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

/** The name of the turns at a host that is paid through a channel. */
export const turnOf = ({ id }: { readonly id: string }, host: string): string => `${id} ${host}`

/** Runs a payment when all earlier ones of these turns have ended. */
export const alone = <A, E>(
  journal: Journal,
  name: string,
  payment: Effect.Effect<A, E>
): Effect.Effect<A, E | JournalUnavailable> =>
  Effect.suspend(() => {
    const queues = queuesOf.get(journal) ?? new Map<string, Queue>()
    queuesOf.set(journal, queues)
    const queue = queues.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), length: 0 }
    queues.set(name, queue)
    queue.length++
    const turn = Effect.acquireUseRelease(
      Effect.interruptible(marked(journal, name)),
      () => payment,
      () => journal.marks.letGo(name)
    )
    return Effect.ensuring(
      queue.semaphore.withPermits(1)(turn),
      Effect.sync(() => {
        if (--queue.length === 0) queues.delete(name)
      })
    )
  })

const marked = Effect.fnUntraced(function* ({ marks }: Journal, name: string) {
  while (!(yield* marks.take(name))) yield* Effect.sleep(markPause)
})
