import type { Life } from "../world/FacilitatorLife.ts"
import * as PaidHeaders from "../world/PaidHeaders.ts"
import { type BuyerKind, buyerKinds, type ShopPurchase } from "../world/ShopBuyers.ts"
/**
 * The charged and the served purchases of a shop, by kind of buyer, and the waits of those hit by a death of the facilitator.
 */
import type { Broken } from "../world/TrialReport.ts"
import type { Testimony } from "./PaymentStory.ts"

/** The evidence that is compared. */
export interface Evidence {
  readonly purchases: ReadonlyArray<ShopPurchase>
  /** Number of times that the shop has handed goods out, by authorization. */
  readonly served: ReadonlyMap<string, number>
  readonly lives: ReadonlyArray<Life>
  readonly chain: Testimony["chain"]
}

/** In milliseconds. A dead call's claim lapses after 60 000; a longer wait after a return was a wait for that lapse. */
const longestWait = 45_000

/**
 * In milliseconds. The shop waits at most 30 seconds for its facilitator, twice where the handler runs first, and once more to confirm a
 * late grant; a response that takes longer was forgotten.
 */
const longestResponse = 120_000

/**
 * Wait of a purchase, in milliseconds, from the facilitator's first return after the death that hit it: by the clock, and
 * only while the facilitator listened, since another death may fall into the wait. `undefined` if no death hit the purchase,
 * or it was not served.
 */
export const waitOf = (
  { paidAt, servedAt }: ShopPurchase,
  lives: ReadonlyArray<Life>
): { readonly byTheClock: number; readonly listening: number } | undefined => {
  if (paidAt === undefined || servedAt === undefined) return undefined
  const death = lives.find(({ ended }) => ended !== undefined && ended > paidAt && ended < servedAt)?.ended
  if (death === undefined) return undefined
  const later = lives.filter(({ began, listened }) => began >= death && listened !== undefined && listened < servedAt)
  const spans = later.map(({ ended = servedAt, listened = ended }) => Math.min(ended, servedAt) - listened)
  const [back = servedAt] = later.map(({ listened = servedAt }) => listened)
  return { byTheClock: servedAt - back, listening: spans.reduce((sum, span) => sum + span, 0) }
}

/** The figures of each kind. */
export const figures = (evidence: Evidence): Readonly<Record<string, number | string>> =>
  Object.fromEntries(buyerKinds.flatMap((kind) => Object.entries(figuresOf(evidence, kind))))

const figuresOf = ({ chain, lives, purchases }: Evidence, kind: BuyerKind) => {
  const own = purchases.filter((one) => one.kind === kind)
  const waits = own.flatMap((one) => waitOf(one, lives) ?? [])
  const listening = waits.map((wait) => wait.listening).toSorted((a, b) => a - b)
  const byTheClock = waits.map((wait) => wait.byTheClock).toSorted((a, b) => a - b)
  const paid = paidKeys(chain)
  return {
    [`${kind}: bought`]: own.length,
    [`${kind}: served`]: own.filter(({ servedAt }) => servedAt !== undefined).length,
    [`${kind}: charged and unserved`]: own.filter((one) => isCharged(one, paid) && one.servedAt === undefined).length,
    [`${kind}: slowest response, seconds`]: (Math.max(0, ...own.map((one) => one.slowestMillis)) / 1000).toFixed(1),
    [`${kind}: hit by a kill and served`]: waits.length,
    [`${kind}: seconds from the return to served, p50`]: secondsAt(listening, 0.5),
    [`${kind}: seconds from the return to served, p99`]: secondsAt(listening, 0.99),
    [`${kind}: the same with further kills in it, p50`]: secondsAt(byTheClock, 0.5),
    [`${kind}: the same with further kills in it, p99`]: secondsAt(byTheClock, 0.99)
  }
}

/** The differences. */
export const findings = ({ chain, lives, purchases, served }: Evidence): ReadonlyArray<Broken> => {
  const paid = paidKeys(chain)
  const untried = buyerKinds.filter((kind) => !purchases.some((one) => one.kind === kind && one.servedAt !== undefined))
  return [
    ...untried.map((kind) => ({
      check: "none-served",
      detail: `no purchase of ${kind} was served at all: ${purchases.find((one) => one.kind === kind)?.last}`
    })),
    ...purchases.flatMap((one): ReadonlyArray<Broken> => {
      const { key, kind, last, servedAt, slowestMillis } = one
      const name = `${kind} ${key}`
      const wait = waitOf(one, lives)?.byTheClock ?? 0
      return [
        ...(isCharged(one, paid) && servedAt === undefined
          ? [{ check: "charged-unserved", detail: `${name} was paid and not served: ${last}` }]
          : []),
        ...(servedAt !== undefined && !isCharged(one, paid)
          ? [{ check: "served-unpaid", detail: `${name} was served and not paid` }]
          : []),
        ...(slowestMillis > longestResponse
          ? [{ check: "shop-silent", detail: `${name} waited ${Math.round(slowestMillis / 1000)} s for one response` }]
          : []),
        ...(wait > longestWait
          ? [{ check: "waited-for-a-lease", detail: `${name} waited ${Math.round(wait / 1000)} s after the return` }]
          : [])
      ]
    }),
    ...[...served]
      .filter(([, times]) => times > 1)
      .map(([key, times]) => ({ check: "served-twice", detail: `${key} was handed out ${times} times` }))
  ]
}

const paidKeys = ({ transfers }: Testimony["chain"]): ReadonlySet<string> =>
  new Set(
    transfers.flatMap(({ from, nonce }) => (nonce === undefined ? [] : [PaidHeaders.keyOf({ payer: from, nonce })]))
  )

const isCharged = ({ key }: ShopPurchase, paid: ReadonlySet<string>): boolean => key !== undefined && paid.has(key)

/** The nearest rank. */
const secondsAt = (sorted: ReadonlyArray<number>, share: number): string => {
  const millis = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  return millis === undefined ? "none" : (millis / 1000).toFixed(1)
}
