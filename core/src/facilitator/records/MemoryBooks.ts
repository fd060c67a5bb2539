/**
 * What a memory store keeps beside the payments: what transactions have cost whom, and whom to tell of which end.
 */
import * as FlightCost from "./FlightCost.ts"
import { firstOf } from "./MemoryRecords.ts"
import * as PaymentChange from "./PaymentChange.ts"
import type { Notice, StoredPayment } from "./PaymentStore.ts"

/**
 * The costs, by network, caller and hour.
 *
 * @category models
 */
export interface MemoryCosts {
  readonly book: (lane: string, cost: bigint, callers: ReadonlyArray<string>, now: number) => void
  readonly spent: (network: string, since: number, caller: string | undefined) => bigint
}

/**
 * No costs.
 *
 * @category constructors
 */
export const makeCosts = (): MemoryCosts => {
  const networks = new Map<string, Map<string, Map<number, bigint>>>()
  const hoursOf = (network: string, caller: string): Map<number, bigint> => {
    const callers = networks.get(network) ?? new Map<string, Map<number, bigint>>()
    networks.set(network, callers)
    const hours = callers.get(caller) ?? new Map<number, bigint>()
    callers.set(caller, hours)
    return hours
  }
  return {
    book: (lane, cost, callers, now) => {
      const hour = FlightCost.hourOf(now)
      for (const [caller, part] of FlightCost.shares(cost, callers)) {
        const hours = hoursOf(FlightCost.networkOf(lane), caller)
        hours.set(hour, (hours.get(hour) ?? 0n) + part)
      }
    },
    spent: (network, since, caller) => {
      const first = FlightCost.hourOf(since)
      let total = 0n
      for (const [name, hours] of networks.get(network) ?? []) {
        if (caller !== undefined && caller !== name) continue
        for (const [hour, part] of hours) if (hour >= first) total += part
      }
      return total
    }
  }
}

/** A notice that is open; `dueAt` is when it may be taken. */
type OpenNotice = Omit<Notice, "payment"> & { readonly paymentId: string; readonly dueAt: number }

/**
 * The notices.
 *
 * @category models
 */
export interface MemoryNotices {
  readonly follow: (before: StoredPayment | undefined, after: StoredPayment, now: number) => void
  readonly take: (
    limit: number,
    until: number,
    now: number,
    find: (paymentId: string) => StoredPayment | undefined
  ) => ReadonlyArray<Notice>
  readonly close: (id: string, retryAt: number | undefined) => void
  readonly isOpenFor: (payment: StoredPayment) => boolean
}

/**
 * No notices.
 *
 * @category constructors
 */
export const makeNotices = (): MemoryNotices => {
  const open = new Map<string, OpenNotice>()
  return {
    follow: (before, after, now) => {
      const status = PaymentChange.news(before, after)
      if (status === undefined) return
      const { paymentId } = after
      const id = `${paymentId} ${status}`
      open.set(id, { id, attempts: 0, paymentId, status, at: now, dueAt: now })
    },
    take: (limit, until, now, find) => {
      const due = [...open.values()].filter(({ dueAt }) => dueAt <= now)
      return [...firstOf(due, limit)].flatMap((notice) => {
        const { at, attempts, id, paymentId, status } = notice
        open.set(id, { ...notice, attempts: attempts + 1, dueAt: until })
        const payment = find(paymentId)
        return payment === undefined ? [] : [{ id, attempts, payment, status, at }]
      })
    },
    close: (id, retryAt) => {
      const notice = open.get(id)
      if (notice === undefined) return
      if (retryAt === undefined) open.delete(id)
      else open.set(id, { ...notice, dueAt: retryAt })
    },
    isOpenFor: ({ history, paymentId }) => history.some(({ status }) => open.has(`${paymentId} ${status}`))
  }
}
