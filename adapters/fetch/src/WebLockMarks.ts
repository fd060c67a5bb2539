/** Marks by a browser's Web Locks: a tab's lock is released when the tab is closed, and not before. */
import { PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"

interface Held {
  release: () => void
  /** Resolves when the lock is free for others, and for this tab. */
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
    // The response comes at once, so a mark is never requested without a way to release it.
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
        // This is how the browser reports that another script has stolen the lock.
        await lock?.released.catch(() => undefined)
      })
  }
}
