/**
 * Tabs of one browser: journals over one list of lines, and marks that end with the tab that has them.
 */
import * as Effect from "effect/Effect"

import type { JournalLine } from "../../src/client/ChannelEntry.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"

export interface Tab {
  readonly journal: PaymentJournal.PaymentJournal["Service"]
  /** Ends the tab: nothing runs in it any more, and what it marked is free. */
  readonly close: () => void
}

/**
 * A browser. Where its marks fail, every tab is told that every mark is its own; `onTake` happens while a mark is asked for.
 */
export const make = ({
  marksFail = false,
  onTake
}: {
  readonly marksFail?: boolean
  readonly onTake?: (id: string, lines: Array<JournalLine>) => void
} = {}) => {
  const lines: Array<JournalLine> = []
  const holders = new Map<string, object>()
  const open = (): Tab => {
    let seen = 0
    const tab = {}
    const log: PaymentJournal.JournalLog = {
      transact: (step) =>
        Effect.sync(() => {
          const [result, added] = step(lines.slice(seen))
          seen = lines.length
          lines.push(...structuredClone(added))
          return result
        }),
      marks: {
        take: (id) =>
          Effect.sync(() => {
            const isMine = marksFail || !holders.has(id)
            if (isMine) holders.set(id, tab)
            onTake?.(id, lines)
            return isMine
          }),
        letGo: (id) => Effect.sync(() => void holders.delete(id))
      }
    }
    const close = () => {
      for (const [id, holder] of holders) if (holder === tab) holders.delete(id)
    }
    return { journal: PaymentJournal.make(log), close }
  }
  return { lines, open }
}
