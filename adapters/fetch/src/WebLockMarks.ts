/**
 * Marks by the Web Locks of a browser: a lock that a tab holds is free when the tab is closed, and not before.
 */
import { PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"

interface Held {
  release: () => void
  /** Over when the lock is free for others, and for this tab. */
  released: Promise<unknown>
}

/** Marks for the journal of this name. */
export const make = (name: string, locks: LockManager): PaymentJournal.PendingMarks => {
  const held = new Map<string, Held>()
  const take = (id: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const mark: Held = { release: () => undefined, released: Promise.resolve() }
      mark.released = locks.request(`pontage/${name}/${id}`, { ifAvailable: true }, async (lock) => {
        if (lock === null) return resolve(false)
        await new Promise<void>((release) => {
          mark.release = release
          held.set(id, mark)
          resolve(true)
        })
      })
      mark.released.catch(reject)
    })
  return {
    // The answer comes at once, so a mark is never asked for without somebody to let it go.
    take: (id) =>
      Effect.uninterruptible(
        Effect.tryPromise({
          try: () => take(id),
          catch: (cause) =>
            new PaymentJournal.JournalUnavailable({
              message: `the locks of the journal "${name}" are not usable`,
              cause
            })
        })
      ),
    letGo: (id) =>
      Effect.promise(async () => {
        const lock = held.get(id)
        held.delete(id)
        lock?.release()
        // Another script may have stolen the lock, and then this is how it says so.
        await lock?.released.catch(() => undefined)
      })
  }
}
