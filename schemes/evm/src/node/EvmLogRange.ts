/**
 * Events of many blocks, asked in as many questions as the node wants. Nodes take ranges of 10, 50, 1 000 or any number of
 * blocks, or as many as have few enough events, and say so only when they refuse: how many at most is learned from the
 * refusal, by its number or by halves, and used for a while.
 *
 * A search that a failing node interrupts goes on where it was: without that, a node that fails one question in a hundred
 * would never answer a search of a thousand.
 */
import { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * What a node answers to a question about a range: what it found, or that it would answer about fewer blocks. The words of
 * its refusal may name the number.
 */
export type RangeAnswer<A> =
  | { readonly _tag: "Found"; readonly logs: ReadonlyArray<A> }
  | { readonly _tag: "TooWide"; readonly words: string }

/** Asks about a range of blocks, its ends included; oldest first. */
export type AskRange<A, E = ChainUnavailable> = (from: bigint, to: bigint) => Effect.Effect<A, E>

/**
 * How long a number that was learned is used, in milliseconds: a range with few events may be wider than one with many. The
 * answers of an interrupted search are used as long, from its first question on: blocks may change under them.
 */
const memoryMillis = 600_000
/** The most searches whose answers are remembered; the one that began first is forgotten first. */
const mostSearches = 64
/** The most events that are remembered of one search; one with more begins anew. */
const mostEvents = 10_000

/**
 * What a search has read. Its answers are used only after a question has failed: a search that begins at the same block after
 * another one has come to its end wants to know the blocks as they are now.
 */
interface SearchProgress<A> {
  readonly begun: number
  /** By the first block of each. */
  readonly answers: Map<bigint, { readonly to: bigint; readonly logs: ReadonlyArray<A> }>
  events: number
  isInterrupted: boolean
}

/**
 * How many blocks the next question is about, after a node has refused one about `width` blocks: the largest number in its
 * words that is below it, else half. A number far below it is no width, or will be met on the way down.
 */
export const narrower = (width: bigint, words: string): bigint => {
  const most = numbersIn(words)
    .filter((number) => number < width && number * 64n >= width)
    .reduce((a, b) => (b > a ? b : a), 0n)
  return most > 0n ? most : width > 1n ? width / 2n : 1n
}

/** Whole numbers in decimal, with separators and with `k` for a thousand; hexadecimal ones are places of blocks. */
const numbersIn = (words: string): ReadonlyArray<bigint> =>
  [...words.matchAll(/(?<![0-9a-zA-Z])(\d{1,3}(?:[,_]\d{3})+|\d{1,9})(k)?(?![0-9a-zA-Z])/gi)].map(
    ([, digits = "", thousand]) => BigInt(digits.replaceAll(/[,_]/g, "")) * (thousand === undefined ? 1n : 1_000n)
  )

/**
 * Makes the questions about ranges of any width out of those that a node may refuse as too wide. A node that refuses a
 * single block cannot be asked.
 */
export const make = <F, A>(
  network: string,
  ask: (filter: F, from: bigint, to: bigint) => Effect.Effect<RangeAnswer<A>, ChainUnavailable>
): ((filter: F) => AskRange<ReadonlyArray<A>>) => {
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
        const known = progress.isInterrupted ? progress.answers.get(next) : undefined
        if (known !== undefined && known.to <= to) {
          found.push(...known.logs)
          next = known.to + 1n
          continue
        }
        const now = yield* Clock.currentTimeMillis
        if (learned !== undefined && now >= learned.until) learned = undefined
        if (learned !== undefined && learned.width < width) width = learned.width
        const last = next + width - 1n < to ? next + width - 1n : to
        const answer = yield* Effect.onError(ask(filter, next, last), () =>
          Effect.sync(() => void (progress.isInterrupted = true))
        )
        if (answer._tag === "Found") {
          remember(progress, next, last, answer.logs)
          found.push(...answer.logs)
          next = last + 1n
          // Only what a node has answered: one that refuses everything has taught nothing.
          if (isRefused) learned = { width, until: now + memoryMillis }
          isRefused = false
          continue
        }
        const asked = last - next + 1n
        if (asked <= 1n) {
          const message = `The node of ${network} refused the events of a single block: ${answer.words}`
          return yield* new ChainUnavailable({ network, message })
        }
        width = narrower(asked, answer.words)
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
  const isOver = known?.isInterrupted === false && known.answers.has(from)
  if (known !== undefined && !isOver && now < known.begun + memoryMillis && known.events <= mostEvents) return known
  const progress: SearchProgress<A> = { begun: now, answers: new Map(), events: 0, isInterrupted: false }
  searches.set(key, progress)
  return progress
}

const remember = <A>(progress: SearchProgress<A>, from: bigint, to: bigint, logs: ReadonlyArray<A>): void => {
  progress.isInterrupted = false
  progress.events += logs.length
  progress.answers.set(from, { to, logs })
}
