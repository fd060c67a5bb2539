/**
 * Marks for a browser without Web Locks: leases in a database. Nobody sees a tab close, so a lease ends by the clock, and
 * whoever finds one waits for its end: by then the other tab has its answer, or is gone.
 */
import { PaymentJournal } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as BrowserDatabase from "./BrowserDatabase.ts"

/**
 * How long a tab is taken to be sending a payment, in milliseconds. A payment that takes longer may be sent by a second tab
 * too, which the server and the states of the journal's entries bear; a payer whose tab was closed waits for so long at most.
 */
export const leaseLength = 15_000

interface Lease {
  readonly id: string
  /** Unix milliseconds. */
  readonly until: number
}

/** Marks for the journal of this name. */
export const make = (name: string, factory: IDBFactory): PaymentJournal.PendingMarks => {
  const database = BrowserDatabase.make(factory, `${name}.leases`, { keyPath: "id" })
  const transact = (id: string, change: Change) =>
    Effect.tryPromise({
      try: () => database.transact((transaction, leases) => changed(transaction, leases, id, change)),
      catch: (cause) =>
        new PaymentJournal.JournalUnavailable({ message: `the leases of the journal "${name}" are not usable`, cause })
    })
  const take = Effect.fnUntraced(function* (id: string) {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const until = yield* transact(id, (leases, known) => {
        // One that ends later than any that is given now is of a clock that was ahead.
        if (known !== undefined && known.until > now && known.until <= now + leaseLength) return known.until
        leases.put({ id, until: now + leaseLength } satisfies Lease)
        return now
      })
      if (until === now) return true
      yield* Effect.sleep(until - now)
    }
  })
  return {
    take,
    letGo: (id) =>
      // One that cannot be given back ends by itself.
      Effect.catch(
        transact(id, (leases) => {
          leases.delete(id)
          return 0
        }),
        () => Effect.void
      )
  }
}

type Change = (leases: IDBObjectStore, known: Lease | undefined) => number

const changed = (transaction: IDBTransaction, leases: IDBObjectStore, id: string, change: Change): Promise<number> =>
  new Promise((resolve, reject) => {
    const question: IDBRequest<Lease | undefined> = leases.get(id)
    let answer = 0
    question.addEventListener("success", () => {
      answer = change(leases, question.result)
    })
    transaction.addEventListener("complete", () => resolve(answer))
    transaction.addEventListener("abort", () => reject(transaction.error))
  })
