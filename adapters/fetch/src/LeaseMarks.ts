/**
 * Marks for a browser without Web Locks: leases in a database. A closed tab cannot be detected, so a lease ends by the
 * clock, and a tab that finds one waits for its end: by then the other tab has its response, or is closed.
 */
import { PaymentJournal } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as BrowserDatabase from "./BrowserDatabase.ts"

/**
 * Milliseconds for which a tab counts as sending a payment. A payment that takes longer may be sent by a second tab
 * too, which the server and the states of the journal's entries tolerate; a payer whose tab was closed waits no longer
 * than this.
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
        // A lease that ends later than any current one comes from a clock that was ahead.
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
      // A lease that cannot be given back ends by itself.
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
