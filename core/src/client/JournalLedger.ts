/**
 * The journal's arithmetic: the known purchases, their totals, and the authorization that a repeated request sends
 * again. Kept in memory and changed in one step at a time; `PaymentJournal` stores the lines.
 */
import { afterLine, type ChannelEntry, isChannel, type JournalLine } from "./ChannelEntry.ts"
import { after, type JournalEntry } from "./JournalEntry.ts"
import type { SpentSoFar } from "./PaymentPolicy.ts"
import * as Spending from "./Spending.ts"

/**
 * The window of the per-day totals, and the time for which an entry is kept: 24 hours, in milliseconds. By then every
 * authorization has been invalid for a day.
 */
export const retention = 24 * 60 * 60 * 1000

/**
 * Milliseconds after its end for which an authorization still counts as valid: clocks disagree, and a block's time may
 * lag behind them.
 */
export const deathMargin = 60_000

/** Whether the authorization can no longer be settled by any party. */
export const isExpired = ({ validBefore }: Pick<JournalEntry, "validBefore">, now: number): boolean =>
  now >= validBefore * 1000 + deathMargin

/**
 * Whether a repetition of the logical request sends this authorization again instead of signing another. An unknown
 * outcome is requested until it is known; a refused one until it has expired; an owed response while it is owed.
 */
export const isResumable = (entry: JournalEntry, now: number): boolean => {
  switch (entry.state) {
    case "pending":
      return true
    case "refused":
      // A refused voucher has no end, and the next request through its channel signs the same one again.
      return entry.draw === undefined && !isExpired(entry, now)
    case "owed":
      return now < (entry.owedUntil ?? 0)
    case "reserved":
    case "settled":
    case "released":
      return false
  }
}

/** Whether a payment that was refused after the money had moved pays for other requests of its route too. */
export const isReusable = ({ owedUntil = 0, reuse, state }: JournalEntry, now: number): boolean =>
  state === "owed" && reuse !== undefined && reuse.runs > 0 && now < owedUntil

/**
 * Whether the purchase is under way: its payment is being signed, is without a known outcome, was refused and can still be settled by
 * the holder of its signature, or is owed a response.
 */
const isOpen = (entry: JournalEntry, now: number): boolean =>
  entry.state === "reserved" ? !isExpired(entry, now) : isResumable(entry, now)

/** Whether an entry's last signature is of this time (Unix milliseconds) or older: then its spendings count no more. */
export const isOld = ({ at, drawnAt = at }: JournalEntry, oldest: number): boolean => Math.max(at, drawnAt) <= oldest

/** Whether the entry is a top-up whose money may still be on its way: it is never forgotten, or another one would be signed beside it. */
export const isTopUpUnderway = ({ state, topUp }: JournalEntry): boolean => topUp !== undefined && state === "pending"

/** Whether an entry's amount may still leave the payer's account. One of a channel is paid from its deposit. */
const isCommitted = (entry: JournalEntry, now: number): boolean =>
  entry.draw === undefined && (entry.state === "reserved" || entry.state === "pending") && !isExpired(entry, now)

/** The ledger. */
export interface JournalLedger {
  /** Takes in a later line of an entry, and returns the current entry: a line may come too late to count. */
  readonly put: (entry: JournalEntry) => JournalEntry
  /** Forgets entries older than `retention`, and expired reservations of processes that have ended. */
  readonly prune: (now: number) => void
  readonly find: (id: string) => JournalEntry | undefined
  readonly spent: SpentSoFar
  /** The oldest entry of a logical request that is to be sent again and is not held. */
  readonly resumable: (request: string, now: number, isHeld: (id: string) => boolean) => JournalEntry | undefined
  /** The oldest entry that pays for other requests too, fits this one, and is not held. */
  readonly reusable: (
    fits: (entry: JournalEntry) => boolean,
    now: number,
    isHeld: (id: string) => boolean
  ) => JournalEntry | undefined
  /** The oldest entry of this logical request that is under way, held or not, in any tab or process of the journal. */
  readonly open: (request: string, now: number) => JournalEntry | undefined
  /** The amount of an asset that open payments may take from the payer: those that are signed, or are being signed. */
  readonly committed: (asset: Pick<JournalEntry, "network" | "asset">, now: number) => bigint
  readonly findPayment: (paymentId: string) => JournalEntry | undefined
  /** The payer's channels, by their ids. */
  readonly channels: ReadonlyMap<string, ChannelEntry>
  /** Takes in a line of either kind. */
  readonly take: (line: JournalLine) => void
}

/** An empty ledger. */
export const make = (): JournalLedger => {
  const entries = new Map<string, JournalEntry>()
  const reserved = new Set<string>()
  const refused = refusals(entries)
  const requests = byRequest(entries)
  const totals = new Map<string, Spending.Spending>()
  const channels = new Map<string, ChannelEntry>()

  const count = (entry: JournalEntry, change: typeof Spending.add) => {
    if (entry.state === "released") return
    for (const { digits, scale, unit: written } of entry.spendings) {
      const unit = Spending.unitOf(written)
      for (const key of keysOf(unit, entry)) {
        totals.set(key, change(totals.get(key) ?? Spending.zero(unit), { unit, digits: BigInt(digits), scale }))
      }
    }
  }
  const forget = (entry: JournalEntry) => {
    count(entry, Spending.subtract)
    entries.delete(entry.id)
    reserved.delete(entry.id)
    refused.forget(entry.id)
    requests.remove(entry)
  }
  /** Forgets expired reservations: nothing was signed for them, so they can cost nothing any more. */
  const forgetReservations = (now: number) => {
    for (const id of reserved) {
      const entry = entries.get(id)
      if (entry !== undefined && isExpired(entry, now)) forget(entry)
    }
  }
  const put: JournalLedger["put"] = (line) => {
    const known = entries.get(line.id)
    const entry = after(known, line)
    if (entry === known) return known
    if (!countsAlike(known, entry)) {
      if (known !== undefined) count(known, Spending.subtract)
      count(entry, Spending.add)
    }
    entries.set(entry.id, entry)
    if (entry.state === "reserved") reserved.add(entry.id)
    else reserved.delete(entry.id)
    refused.note(entry)
    // A payment that was refused moves to another request.
    if (known !== undefined && known.request !== entry.request) requests.remove(known)
    requests.note(entry)
    return entry
  }
  return {
    put,
    prune: (now) => {
      forgetReservations(now)
      // Entries are in the order of their reservation, so the first young one ends the loop; an entry from a clock that was
      // ahead must not keep those behind it.
      for (const entry of entries.values()) {
        if (entry.at > now) continue
        if (entry.at > now - retention) return
        if (isTopUpUnderway(entry) || !isOld(entry, now - retention)) continue
        forget(entry)
      }
    },
    find: (id) => entries.get(id),
    spent: (unit, host, network) => totals.get(keyAt(unit, host, network)) ?? Spending.zero(unit),
    resumable: (request, now, isHeld) =>
      requests.of(request).find((entry) => !isHeld(entry.id) && isResumable(entry, now)),
    reusable: refused.find,
    open: (request, now) => requests.of(request).find((entry) => isOpen(entry, now)),
    committed: (place, now) => committedOf(entries, place, now),
    findPayment: (paymentId) => [...entries.values()].find((entry) => entry.paymentId === paymentId),
    channels,
    take: (line) => void (isChannel(line) ? channels.set(line.id, afterLine(channels.get(line.id), line)) : put(line))
  }
}

const committedOf = (
  entries: ReadonlyMap<string, JournalEntry>,
  { asset, network }: Pick<JournalEntry, "network" | "asset">,
  now: number
): bigint =>
  [...entries.values()]
    .filter((entry) => entry.asset === asset && entry.network === network && isCommitted(entry, now))
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n)

/** The entries of each logical request, the oldest first. Every purchase looks here, so entries that are over are removed. */
const byRequest = (entries: ReadonlyMap<string, JournalEntry>) => {
  const ids = new Map<string, Set<string>>()
  const remove = ({ id, request }: JournalEntry) => {
    const siblings = ids.get(request)
    siblings?.delete(id)
    if (siblings?.size === 0) ids.delete(request)
  }
  return {
    remove,
    note: (entry: JournalEntry) => {
      if (entry.state === "settled" || entry.state === "released") return remove(entry)
      ids.set(entry.request, (ids.get(entry.request) ?? new Set()).add(entry.id))
    },
    of: (request: string) => [...(ids.get(request) ?? [])].flatMap((id) => entries.get(id) ?? [])
  }
}

/** The entries that pay for other requests of their route too; expired ones are removed when they are met. */
const refusals = (entries: ReadonlyMap<string, JournalEntry>) => {
  const ids = new Set<string>()
  const find: JournalLedger["reusable"] = (fits, now, isHeld) => {
    for (const id of ids) {
      const entry = entries.get(id)
      if (entry === undefined || !isReusable(entry, now)) ids.delete(id)
      else if (!isHeld(id) && fits(entry)) return entry
    }
    return undefined
  }
  return {
    note: ({ id, reuse, state }: JournalEntry) =>
      void (reuse !== undefined && state === "owed" ? ids.add(id) : ids.delete(id)),
    forget: (id: string) => void ids.delete(id),
    find
  }
}

/** Whether two states count the same: most follow from another by a copy, which leaves the totals unchanged. */
const countsAlike = (known: JournalEntry | undefined, next: JournalEntry): boolean =>
  known?.spendings === next.spendings &&
  known.host === next.host &&
  known.network === next.network &&
  (known.state === "released") === (next.state === "released")

/** The sums that an entry counts in: everywhere, at its host, on its network, and at its host on its network. */
const keysOf = (unit: string, { host, network }: Pick<JournalEntry, "host" | "network">): ReadonlyArray<string> => [
  keyAt(unit),
  keyAt(unit, host),
  keyAt(unit, undefined, network),
  keyAt(unit, host, network)
]

const keyAt = (unit: string, host = "", network = "") => `${unit} ${host} ${network}`
