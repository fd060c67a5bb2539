/**
 * Compares this machine's clock with the chains'. A wrong clock makes every verdict about validity wrong, and every
 * decision whether a payment may still be sent. A chain's time is agreed on by its block producers; if the two differ
 * too much, nothing is judged, and the operator gets both times.
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

import { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"

/** Both times; Unix seconds. */
export interface Comparison {
  readonly own: number
  readonly chain: number
  readonly isApart: boolean
}

/**
 * Largest accepted difference in seconds. Blocks are some seconds old when seen, and buyers' clocks are allowed the
 * same.
 */
export const toleranceSeconds = 30

/** Compares the clock with a chain's time; `undefined` for a family without one. */
export const compare = Effect.fnUntraced(function* ({
  time
}: SchemeFacilitator): Effect.fn.Return<Comparison | undefined, ChainUnavailable> {
  if (time === undefined) return undefined
  const chain = yield* time
  const own = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return { own, chain, isApart: Math.abs(own - chain) > toleranceSeconds }
})

/** The fault, as half a sentence with both times. */
export const toText = (network: string, { chain, own }: Comparison): string => {
  const [seconds, way] = own > chain ? [own - chain, "ahead of"] : [chain - own, "behind"]
  return `this machine's clock (${toDate(own)}) is ${seconds} seconds ${way} the time of ${network} (${toDate(chain)})`
}

/** A time beyond the range of a date is shown as a number. */
const toDate = (seconds: number): string =>
  Option.match(DateTime.make(seconds * 1000), { onNone: () => `${seconds}`, onSome: DateTime.formatIso })

/** The comparison made for each judged payment, with few requests to the chain. */
export interface ChainClock {
  /** Fails if the two differ too much. */
  readonly demand: (scheme: SchemeFacilitator) => Effect.Effect<void, ChainUnavailable>
}

/** Lifetime of a comparison in milliseconds. A clock that jumps makes it too old, or puts it in the future. */
const holdsMillis = 2_000
/** Minimum interval between equal log lines, in milliseconds. */
const logMillis = 60_000

interface Known {
  readonly comparison: Comparison | undefined
  readonly at: number
}

/** Makes one without a comparison yet. */
export const make = (): ChainClock => {
  const known = new Map<SchemeFacilitator, Known>()
  const logged = new Map<SchemeFacilitator, number>()
  const latest = Effect.fnUntraced(function* (scheme: SchemeFacilitator) {
    const now = yield* Clock.currentTimeMillis
    const last = known.get(scheme)
    if (last !== undefined && now >= last.at && now - last.at < holdsMillis) return last.comparison
    const comparison = yield* compare(scheme)
    known.set(scheme, { comparison, at: yield* Clock.currentTimeMillis })
    return comparison
  })
  const tell = Effect.fnUntraced(function* (scheme: SchemeFacilitator, words: string) {
    const now = yield* Clock.currentTimeMillis
    const last = logged.get(scheme)
    if (last !== undefined && now >= last && now - last < logMillis) return
    logged.set(scheme, now)
    yield* Effect.logError(`${words}: no payment on ${scheme.network} is judged; set the clock, or look at the node`)
  })
  return {
    demand: Effect.fnUntraced(function* (scheme) {
      if (scheme.time === undefined) return
      const comparison = yield* latest(scheme)
      if (comparison === undefined || !comparison.isApart) return
      const words = toText(scheme.network, comparison)
      yield* tell(scheme, words)
      const message = `${words}; no payment is judged meanwhile, send the same one again later`
      return yield* new ChainUnavailable({ network: scheme.network, message })
    })
  }
}
