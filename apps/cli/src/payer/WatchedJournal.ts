/**
 * The journal of a command, watched: the command can say at any moment which payment is under way, also when it is stopped in the
 * middle of one.
 */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

import { type JournalEntry, PaymentJournal } from "@pontage/core"
import { fileJournal } from "@pontage/fetch/node"
import * as Effect from "effect/Effect"

import { unusableWallet } from "../CommandFailed.ts"

/** A journal that is being watched. */
export interface WatchedJournal {
  readonly journal: PaymentJournal.PaymentJournal["Service"]
  /** The last known entry of the payment of this command. */
  readonly current: () => JournalEntry | undefined
  /** Whether an earlier call had made that payment. */
  readonly isResumed: () => boolean
  readonly close: () => Promise<void>
}

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

const watched = ({ close, journal }: Awaited<ReturnType<typeof fileJournal>>): WatchedJournal => {
  const seen: { entry?: JournalEntry | undefined; isResumed: boolean } = { isResumed: false }
  const note = (entry: JournalEntry | undefined) => {
    if (entry !== undefined) seen.entry = entry
  }
  const adopted = (entry: JournalEntry | undefined) => {
    note(entry)
    seen.isResumed ||= entry !== undefined
  }
  return {
    journal: {
      ...journal,
      adopt: (request) => Effect.tap(journal.adopt(request), (entry) => Effect.sync(() => adopted(entry))),
      adoptRefused: (fits) => Effect.tap(journal.adoptRefused(fits), (entry) => Effect.sync(() => adopted(entry))),
      write: (entry) => {
        // Noted before it is written: a payment that is stopped while the disk is slow is told all the same.
        note(entry)
        return Effect.tap(journal.write(entry), (written) => Effect.sync(() => note(written)))
      }
    },
    current: () => seen.entry,
    isResumed: () => seen.isResumed,
    close
  }
}
