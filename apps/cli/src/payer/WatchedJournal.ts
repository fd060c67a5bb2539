/**
 * The journal of a command, watched: the command can say at any moment which payment is under way, also when it is stopped in the
 * middle of one. A served payment is written as over only when the whole response has arrived: until then its response is owed, and
 * the same command asks for it again instead of paying again.
 */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

import { type JournalEntry, PaymentJournal } from "@pontage/core"
import { fileJournal } from "@pontage/fetch/node"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { unusableWallet } from "../CommandFailed.ts"

/** A journal that is being watched. */
export interface WatchedJournal {
  readonly journal: PaymentJournal.PaymentJournal["Service"]
  /** The last known entry of the payment of this command. */
  readonly current: () => JournalEntry | undefined
  /** Whether an earlier call had made that payment. */
  readonly isResumed: () => boolean
  /** Writes the payment as over: its whole response has arrived. */
  readonly arrived: () => Promise<void>
  /** The served payment whose response has not arrived as a whole; it is owed for some minutes. */
  readonly broken: () => JournalEntry | undefined
  readonly close: () => Promise<void>
}

/** Milliseconds for which shops of this protocol give the response of a broken download again (apps/docs/protocol.md#d16-entitlement). */
const entitlement = 10 * 60_000

const patience = 30_000
const pause = 200

/** Opens it. While another process has it, this one waits up to 30 seconds and says so. */
export const open = async (path: string, signal: AbortSignal, onWait: () => void): Promise<WatchedJournal> => {
  const until = performance.now() + patience
  while (true) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- each attempt follows a failed one
      return watched(await fileJournal(path))
    } catch (error) {
      if (!(error instanceof PaymentJournal.JournalUnavailable)) throw error
      if (!existsSync(`${path}.lock`) || performance.now() > until) throw unusableWallet(error.message)
      onWait()
      // oxlint-disable-next-line no-await-in-loop -- each attempt follows a failed one
      await sleep(pause, undefined, { signal }).catch(() => Promise.reject(signal.reason))
    }
  }
}

const owedFrom = (entry: JournalEntry, now: number): JournalEntry => ({
  ...entry,
  state: "owed",
  owedUntil: entry.owedUntil ?? now + entitlement
})

const watched = ({ close, journal }: Awaited<ReturnType<typeof fileJournal>>): WatchedJournal => {
  const seen: {
    entry?: JournalEntry | undefined
    isResumed: boolean
    served?: JournalEntry | undefined
    refused?: string
  } = {
    isResumed: false
  }
  const note = (entry: JournalEntry | undefined) => {
    if (entry !== undefined) seen.entry = entry
  }
  const adopted = (entry: JournalEntry | undefined) => {
    note(entry)
    seen.isResumed ||= entry !== undefined && entry.topUp === undefined
  }
  return {
    journal: {
      ...journal,
      adopt: (request) => Effect.tap(journal.adopt(request), (entry) => Effect.sync(() => adopted(entry))),
      adoptRefused: (fits) => Effect.tap(journal.adoptRefused(fits), (entry) => Effect.sync(() => adopted(entry))),
      draw: (id, change) =>
        journal.draw(id, (books) =>
          Result.map(change(books), (drawn) => {
            for (const line of drawn[1]) if (!("kind" in line)) note(line)
            return drawn
          })
        ),
      write: (given) => {
        const { cut: _, ...entry } = given
        // A body that broke off is owed already, and no other payment takes its place before the shop has said so.
        // Noted before it is written: a payment that is stopped while the disk is slow is told all the same.
        note(entry)
        if (entry.state === "refused") seen.refused = entry.id
        const isPaid = entry.state === "settled" && entry.headers !== undefined && entry.draw === undefined
        const isServed = isPaid && entry.topUp === undefined && seen.refused !== entry.id
        if (!isServed) return Effect.tap(journal.write(entry), (written) => Effect.sync(() => note(written)))
        seen.served = entry
        return Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.as(journal.write(owedFrom(entry, now)), entry))
      }
    },
    arrived: async () => {
      const { served } = seen
      if (served === undefined) return
      await Effect.runPromise(Effect.ignore(journal.write(served)))
      seen.served = undefined
    },
    broken: () => seen.served && owedFrom(seen.served, Date.now()),
    current: () => seen.entry,
    isResumed: () => seen.isResumed,
    close
  }
}
