/**
 * The states of channels on their chains, with few requests: reads that are made at once share one, and a state counts again for a moment.
 * A withdrawal takes a quarter of an hour at least, so a draw by a state of a moment ago can still be claimed. A state that refuses a draw
 * is read anew.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { ChannelSums, SchemeDraws } from "../../scheme/SchemeDraws.ts"
import * as GroupedCalls from "../remote/GroupedCalls.ts"

/** A state, and whether it was read for this call; `undefined` for a channel of which the chain says nothing. */
export interface Seen {
  readonly sums: ChannelSums | undefined
  readonly isNew: boolean
}

/** The reads of states. */
export interface ChannelStates {
  /** The state as of a moment ago. */
  readonly recent: (draws: SchemeDraws, channelId: string) => Effect.Effect<Seen, ChainUnavailable>
  /** The newest state. */
  readonly newest: (draws: SchemeDraws, channelId: string) => Effect.Effect<Seen, ChainUnavailable>
}

/** Time for which a state counts again, in milliseconds. A clock that jumps makes it too old, or puts it in the future. */
const holdsMillis = 2_000

/** The most channels in one read. */
const together = 100

/** The most channels whose states are kept. */
const capacity = 10_000

interface Kept {
  readonly sums: ChannelSums
  readonly at: number
}

/** Begins without a state. */
export const make = (): ChannelStates => {
  const networks = new Map<SchemeDraws, ReturnType<typeof ofNetwork>>()
  const of = (draws: SchemeDraws) => {
    const known = networks.get(draws) ?? ofNetwork(draws)
    networks.set(draws, known)
    return known
  }
  return {
    recent: (draws, channelId) => of(draws).recent(channelId),
    newest: (draws, channelId) => of(draws).newest(channelId)
  }
}

const ofNetwork = ({ states }: SchemeDraws) => {
  const kept = BoundedMap.oldestOut<string, Kept>(capacity)
  const read = GroupedCalls.make<string, ChannelSums | undefined, ChainUnavailable>({
    alone: (id) => Effect.map(states([id]), ([sums]) => sums),
    together: (ids) => Effect.map(states(ids), (found) => ids.map((_, index) => Result.succeed(found[index]))),
    maximum: together
  })
  const newest = Effect.fnUntraced(function* (channelId: string): Effect.fn.Return<Seen, ChainUnavailable> {
    const at = yield* Clock.currentTimeMillis
    const sums = yield* read(channelId)
    if (sums !== undefined) kept.set(channelId, { sums, at })
    return { sums, isNew: true }
  })
  return {
    newest,
    recent: (channelId: string): Effect.Effect<Seen, ChainUnavailable> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const known = kept.get(channelId)
        const isRecent = known !== undefined && now >= known.at && now - known.at < holdsMillis
        return isRecent ? Effect.succeed({ sums: known.sums, isNew: false }) : newest(channelId)
      })
  }
}
