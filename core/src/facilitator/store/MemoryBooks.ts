/** The parts of a memory store beside the payments: the cost of transactions by caller, and the notices. */
import { firstOf } from "./MemoryRecords.ts"
import * as PaymentChange from "./PaymentChange.ts"
import { deliveredNotice, type Notice, type NoticeBacklog, type StoredPayment } from "./PaymentStore.ts"
import * as TransactionCost from "./TransactionCost.ts"

/** Costs by network, caller and hour. */
export interface MemoryCosts {
  readonly book: (lane: string, cost: bigint, callers: ReadonlyArray<string>, now: number) => void
  readonly spent: (network: string, since: number, caller: string | undefined) => bigint
  readonly byCaller: (network: string, since: number) => ReadonlyMap<string, bigint>
}

/** Makes empty costs. */
export const makeCosts = (): MemoryCosts => {
  const networks = new Map<string, Map<string, Map<number, bigint>>>()
  const hoursOf = (network: string, caller: string): Map<number, bigint> => {
    const callers = networks.get(network) ?? new Map<string, Map<number, bigint>>()
    networks.set(network, callers)
    const hours = callers.get(caller) ?? new Map<number, bigint>()
    callers.set(caller, hours)
    return hours
  }
  const byCaller = (network: string, since: number) => {
    const first = TransactionCost.hourOf(since)
    const costs = new Map<string, bigint>()
    for (const [name, hours] of networks.get(network) ?? []) {
      let total = 0n
      for (const [hour, part] of hours) if (hour >= first) total += part
      costs.set(name, total)
    }
    return costs
  }
  return {
    book: (lane, cost, callers, now) => {
      const hour = TransactionCost.hourOf(now)
      for (const [caller, part] of TransactionCost.shares(cost, callers)) {
        const hours = hoursOf(TransactionCost.networkOf(lane), caller)
        hours.set(hour, (hours.get(hour) ?? 0n) + part)
        for (const old of hours.keys())
          if (old < TransactionCost.hourOf(now - TransactionCost.keptMillis)) hours.delete(old)
      }
    },
    spent: (network, since, caller) => {
      const callers = byCaller(network, since)
      if (caller !== undefined) return callers.get(caller) ?? 0n
      return [...callers.values()].reduce((total, cost) => total + cost, 0n)
    },
    byCaller
  }
}

/** An open notice; `dueAt` is the time from which it may be taken. */
interface OpenNotice extends Omit<Notice, "payment" | "attempts"> {
  readonly paymentId: string
  attempts: number
  dueAt: number
}

/** The notices. */
export interface MemoryNotices {
  /** Adds the notice of a record's change; returns whether there is one. */
  readonly follow: (before: StoredPayment | undefined, after: StoredPayment, now: number) => boolean
  readonly take: (
    room: ReadonlyMap<string, number>,
    until: number,
    now: number,
    find: (paymentId: string) => StoredPayment | undefined
  ) => ReadonlyArray<Notice>
  readonly close: (id: string, retryAt: number | undefined) => void
  /**
   * Closes notices of states reached before this time, of these callers only those that were taken twice; returns their
   * number by caller.
   */
  readonly giveUp: (before: number, limit: number, kept?: ReadonlySet<string>) => ReadonlyMap<string, number>
  readonly backlog: () => NoticeBacklog
  readonly isOpenFor: (payment: StoredPayment) => boolean
}

/** Makes empty notices. Each caller has its own queue, oldest first. */
export const makeNotices = (): MemoryNotices => {
  const queues = new Map<string, Map<string, OpenNotice>>()
  const callers = new Map<string, string>()
  const close = (id: string) => {
    const caller = callers.get(id) ?? ""
    const queue = queues.get(caller)
    queue?.delete(id)
    callers.delete(id)
    if (queue?.size === 0) queues.delete(caller)
  }
  return {
    follow: (before, after, now) => {
      const status = PaymentChange.noticeStatus(before, after)
      if (status === undefined) return false
      const { caller, paymentId } = after
      const id = `${paymentId} ${status}`
      const queue = queues.get(caller) ?? new Map<string, OpenNotice>()
      queues.set(caller, queue.set(id, { id, attempts: 0, paymentId, status, at: now, dueAt: now }))
      callers.set(id, caller)
      return true
    },
    take: (room, until, now, find) =>
      [...room].flatMap(([caller, limit]) =>
        [...firstOf(dueOf(queues.get(caller)?.values() ?? [], now), limit)].flatMap((notice) => {
          const { at, attempts, id, paymentId, status } = notice
          notice.attempts += 1
          notice.dueAt = until
          const payment = find(paymentId)
          return payment === undefined ? [] : [{ id, attempts, payment, status, at }]
        })
      ),
    close: (id, retryAt) => {
      const notice = queues.get(callers.get(id) ?? "")?.get(id)
      if (notice === undefined) return
      if (retryAt === undefined) close(id)
      else notice.dueAt = retryAt
    },
    giveUp: (before, limit, kept = new Set()) => {
      const counts = new Map<string, number>()
      let left = limit
      for (const [caller, queue] of queues) {
        for (const { at, attempts, id } of queue.values()) {
          if (left === 0 || at >= before) break
          if (attempts <= 1 && kept.has(caller)) continue
          left -= 1
          close(id)
          counts.set(caller, (counts.get(caller) ?? 0) + 1)
        }
      }
      return counts
    },
    backlog: () => {
      const first = [...queues.values()].flatMap((queue) => [...firstOf(queue.values(), 1)].map(({ at }) => at))
      return { count: callers.size, oldest: first.length === 0 ? undefined : Math.min(...first) }
    },
    isOpenFor: ({ history, paymentId }) =>
      [...history.map(({ status }) => status), deliveredNotice].some((status) => callers.has(`${paymentId} ${status}`))
  }
}

/** The due notices; a payment's later notice waits for its earlier ones. */
function* dueOf(queue: Iterable<OpenNotice>, now: number): Generator<OpenNotice> {
  const earlier = new Set<string>()
  for (const notice of queue) {
    if (!earlier.has(notice.paymentId) && notice.dueAt <= now) yield notice
    earlier.add(notice.paymentId)
  }
}
