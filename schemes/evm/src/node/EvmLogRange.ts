/**
 * Reads the events of many blocks, in as many requests as the node requires. Nodes accept ranges of 10, 50, 1 000 or any
 * number of blocks, or as many as have few enough events, and say so only in an error: the largest range is learned from the
 * error, by its number or by halving, and kept for a while.
 *
 * A search that a failing node interrupts continues where it stopped: otherwise, with a node that fails one request in a
 * hundred, a search of a thousand requests would never end.
 */
import { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * A node's response about a range: the events, or that the range has too many blocks. The error's message may name the
 * largest number.
 */
export type RangeResponse<A> =
  | { readonly _tag: "Found"; readonly logs: ReadonlyArray<A> }
  | { readonly _tag: "TooWide"; readonly message: string }

/** Reads a range of blocks, its ends included; oldest first. */
export type ReadRange<A, E = ChainUnavailable> = (from: bigint, to: bigint) => Effect.Effect<A, E>

/**
 * Milliseconds for which a learned width is used: a range with few events may be wider than one with many. The responses of
 * an interrupted search live as long, counted from its first request: blocks may change under them.
 */
const memoryMillis = 600_000
/** The most searches whose responses are kept; the oldest search is dropped first. */
const mostSearches = 64
/** The most events kept of one search; a search with more starts over. */
const mostEvents = 10_000

/**
 * The part of a search that is read. It is used only after a failed request: a search that begins at the same block after
 * another one has ended needs the blocks as they are now.
 */
interface SearchProgress<A> {
  readonly begun: number
  /** Keyed by the first block of each range. */
  readonly responses: Map<bigint, { readonly to: bigint; readonly logs: ReadonlyArray<A> }>
  events: number
  isInterrupted: boolean
}

/**
 * The number of blocks of the next request, after a node has refused `width` blocks: the largest number in its message that
 * is below `width`, else half of it. A number far below `width` is not a width, or will be reached by halving.
 */
export const narrower = (width: bigint, message: string): bigint => {
  const most = numbersIn(message)
    .filter((number) => number < width && number * 64n >= width)
    .reduce((a, b) => (b > a ? b : a), 0n)
  return most > 0n ? most : width > 1n ? width / 2n : 1n
}

/** Whole decimal numbers, with separators and with `k` for a thousand; hexadecimal ones are block numbers. */
const numbersIn = (message: string): ReadonlyArray<bigint> =>
  [...message.matchAll(/(?<![0-9a-zA-Z])(\d{1,3}(?:[,_]\d{3})+|\d{1,9})(k)?(?![0-9a-zA-Z])/gi)].map(
    ([, digits = "", thousand]) => BigInt(digits.replaceAll(/[,_]/g, "")) * (thousand === undefined ? 1n : 1_000n)
  )

/**
 * Makes reads of ranges of any width out of reads that a node may refuse as too wide. A node that refuses a single block is
 * `ChainUnavailable`.
 */
export const make = <F, A>(
  network: string,
  request: (filter: F, from: bigint, to: bigint) => Effect.Effect<RangeResponse<A>, ChainUnavailable>
): ((filter: F) => ReadRange<ReadonlyArray<A>>) => {
  let learned: { readonly width: bigint; readonly until: number } | undefined
  const searches = BoundedMap.oldestOut<string, SearchProgress<A>>(mostSearches)
  return (filter) =>
    Effect.fnUntraced(function* (from, to) {
      const progress = progressOf(searches, JSON.stringify(filter), from, yield* Clock.currentTimeMillis)
      const found: Array<A> = []
      let next = from
      let width = to - from + 1n
      let isRefused = false
      while (next <= to) {
        const known = progress.isInterrupted ? progress.responses.get(next) : undefined
        if (known !== undefined && known.to <= to) {
          found.push(...known.logs)
          next = known.to + 1n
          continue
        }
        const now = yield* Clock.currentTimeMillis
        if (learned !== undefined && now >= learned.until) learned = undefined
        if (learned !== undefined && learned.width < width) width = learned.width
        const last = next + width - 1n < to ? next + width - 1n : to
        const response = yield* Effect.onError(request(filter, next, last), () =>
          Effect.sync(() => void (progress.isInterrupted = true))
        )
        if (response._tag === "Found") {
          remember(progress, next, last, response.logs)
          found.push(...response.logs)
          next = last + 1n
          // A width is learned from a success alone: a node that refuses everything teaches nothing.
          if (isRefused) learned = { width, until: now + memoryMillis }
          isRefused = false
          continue
        }
        const requested = last - next + 1n
        if (requested <= 1n) {
          const message = `The node of ${network} refused the events of a single block: ${response.message}`
          return yield* new ChainUnavailable({ network, message })
        }
        width = narrower(requested, response.message)
        isRefused = true
      }
      return found
    })
}

const progressOf = <A>(
  searches: BoundedMap.BoundedMap<string, SearchProgress<A>>,
  key: string,
  from: bigint,
  now: number
): SearchProgress<A> => {
  const known = searches.get(key)
  const isOver = known?.isInterrupted === false && known.responses.has(from)
  if (known !== undefined && !isOver && now < known.begun + memoryMillis && known.events <= mostEvents) return known
  const progress: SearchProgress<A> = { begun: now, responses: new Map(), events: 0, isInterrupted: false }
  searches.set(key, progress)
  return progress
}

const remember = <A>(progress: SearchProgress<A>, from: bigint, to: bigint, logs: ReadonlyArray<A>): void => {
  progress.isInterrupted = false
  progress.events += logs.length
  progress.responses.set(from, { to, logs })
}
