/**
 * Events of many blocks, asked in as many questions as the node wants. Nodes take ranges of 10, 50, 1 000 or any number of
 * blocks, or as many as have few enough events, and say so only when they refuse: how many at most is learned from the
 * refusal, by its number or by halves, and used for a while.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * What a node answers to a question about a range: what it found, or that it would answer about fewer blocks. The words of
 * its refusal may name the number.
 *
 * @category models
 */
export type RangeAnswer<A> =
  | { readonly _tag: "Found"; readonly logs: ReadonlyArray<A> }
  | { readonly _tag: "TooWide"; readonly words: string }

/**
 * Asks about a range of blocks, its ends included; oldest first.
 *
 * @category models
 */
export type AskRange<A, E = ChainUnavailable> = (from: bigint, to: bigint) => Effect.Effect<A, E>

/** How long a number that was learned is used, in milliseconds: a range with few events may be wider than one with many. */
const memoryMillis = 600_000

/**
 * How many blocks the next question is about, after a node has refused one about `width` blocks: the largest number in its
 * words that is below it, else half. A number far below it is no width, or will be met on the way down.
 *
 * @category getters
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
 *
 * @category constructors
 */
export const make = <F, A>(
  network: string,
  ask: (filter: F, from: bigint, to: bigint) => Effect.Effect<RangeAnswer<A>, ChainUnavailable>
): ((filter: F) => AskRange<ReadonlyArray<A>>) => {
  let learned: { readonly width: bigint; readonly until: number } | undefined
  return (filter) =>
    Effect.fnUntraced(function* (from, to) {
      const found: Array<A> = []
      let next = from
      let width = to - from + 1n
      let isRefused = false
      while (next <= to) {
        const now = yield* Clock.currentTimeMillis
        if (learned !== undefined && now >= learned.until) learned = undefined
        if (learned !== undefined && learned.width < width) width = learned.width
        const last = next + width - 1n < to ? next + width - 1n : to
        const answer = yield* ask(filter, next, last)
        if (answer._tag === "Found") {
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
