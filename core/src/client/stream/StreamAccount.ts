/**
 * The payer's count of a metered stream: the amount that its vouchers allow, and what has come for it. A shop gets at most one
 * window ahead of what has come, whatever it says. Streams of one channel share its credit, so they are counted together.
 */
import type { MeteredTerms } from "./MeteredTerms.ts"

/** How a stream's units are counted; `undefined` where nothing that comes can be counted, so that nothing more is signed. */
export type Measure = "events" | "bytes" | "seconds" | "arrival" | undefined

/** The count of one stream. */
export interface StreamAccount {
  readonly terms: MeteredTerms
  readonly measure: Measure
  /** When its head came, in milliseconds of the monotonic clock. */
  readonly began: number
  /** The amount that its vouchers have allowed so far. */
  total: bigint
  events: bigint
  bytes: bigint
  /** The arrivals on its channel when its last voucher was signed. */
  seen: number
}

/** The streams of one channel at one host that are under way in this process. */
export interface StreamPool {
  readonly accounts: Set<StreamAccount>
  /** The number of chunks or events with content that have come in any of them. */
  arrivals: number
  /** Whether several have been under way at once since there was none. */
  isShared: boolean
  /** The charge of ended streams above their own vouchers, which those of the others cover. */
  taken: bigint
  /** The amount that ended streams were signed for and not charged. */
  spare: bigint
}

/** A pool without streams. */
export const emptyPool = (): StreamPool => ({
  accounts: new Set(),
  arrivals: 0,
  isShared: false,
  taken: 0n,
  spare: 0n
})

/** Adds a stream. */
export const join = (pool: StreamPool, account: StreamAccount): void => {
  pool.accounts.add(account)
  pool.isShared ||= pool.accounts.size > 1
}

/** The most that a stream can have been charged: a shop gives a window to the stream of the channel that waits for it first. */
export const mostCharged = ({ accounts, isShared, spare }: StreamPool, account: StreamAccount): bigint =>
  isShared ? [...accounts].reduce((sum, { total }) => sum + total, spare) : account.total

/** Takes an ended stream out. Returns the change of the channel's charges, in which all windows of its streams count already. */
export const leave = (pool: StreamPool, account: StreamAccount, charged: bigint): bigint => {
  pool.accounts.delete(account)
  const surplus = charged - account.total
  const [wanted, left] = surplus > 0n ? [surplus, pool.spare] : [-surplus, pool.taken]
  const met = wanted < left ? wanted : left
  if (surplus > 0n) {
    pool.spare -= met
    pool.taken += surplus - met
  } else {
    pool.taken -= met
    pool.spare += wanted - met
  }
  if (pool.accounts.size === 0) Object.assign(pool, { isShared: false, taken: 0n, spare: 0n })
  return surplus > 0n ? met : met - wanted
}

/** The measure of a stream, by its unit and by whether its body is of server-sent events. */
export const measureOf = ({ unit }: MeteredTerms, isEvents: boolean): Measure => {
  if (unit === "second") return "seconds"
  if (isEvents) return unit === "event" ? "events" : "arrival"
  return unit === "byte" ? "bytes" : undefined
}

/** The price of what has come in a stream. */
const received = ({ began, bytes, events, measure, terms }: StreamAccount, now: number): bigint => {
  if (measure === "seconds") return BigInt(Math.max(0, Math.floor((now - began) / 1000))) * terms.tick
  return (measure === "events" ? events : bytes) * terms.tick
}

const isCounted = ({ measure }: StreamAccount): boolean => measure !== "arrival" && measure !== undefined

/** The part of a window, as a divisor, that counts as come where the clock or events count: a shop waits when its next piece does not fit. */
const pieces = 8n

/**
 * The amount that the next voucher may add: a window, less what was signed and has not come. A rest below the price of a unit is left
 * out, and one below an eighth of the window too where not bytes are counted. Nothing, while nothing has come since the last voucher.
 */
export const allowance = ({ accounts, arrivals, taken }: StreamPool, account: StreamAccount, now: number): bigint => {
  const { measure, seen, terms } = account
  if (measure === undefined || arrivals <= seen) return 0n
  if (measure === "arrival") return terms.window
  const counted = [...accounts].filter(isCounted)
  const ahead = counted.reduce((sum, one) => sum + one.total - received(one, now), -taken)
  if (ahead < terms.tick || (measure !== "bytes" && ahead * pieces <= terms.window)) return terms.window
  return ahead < terms.window ? terms.window - ahead : 0n
}
