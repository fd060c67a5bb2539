/**
 * The streams that their buyer ends while they wait for a voucher, in this process. A buyer says it beside its highest voucher at the
 * voucher URL. The word holds for the streams that had begun by then, until a higher voucher comes.
 */
import * as Effect from "effect/Effect"

/** The ends of one facilitator's streams. */
export interface StreamEnds {
  /** The number of a stream that begins. */
  readonly begin: () => number
  /** Ends the channel's streams that wait, or come to wait, while this is its highest voucher. */
  readonly end: (channelId: string, accepted: bigint) => void
  /** Completes once a stream is ended that waits at this highest voucher. */
  readonly ended: (channelId: string, stream: number, accepted: bigint) => Effect.Effect<void>
}

/** The most channels whose ends are kept; the oldest one is forgotten, and its streams end by their patience. */
const channelsAtMost = 10_000

interface Waiting {
  readonly stream: number
  readonly accepted: bigint
  readonly resume: () => void
}

const make = (): StreamEnds => {
  let streams = 0
  const ends = new Map<string, { readonly last: number; readonly accepted: bigint }>()
  const waiting = new Map<string, Set<Waiting>>()
  const isEnded = (channelId: string, { accepted, stream }: Pick<Waiting, "accepted" | "stream">) => {
    const end = ends.get(channelId)
    return end !== undefined && stream <= end.last && accepted <= end.accepted
  }
  return {
    begin: () => ++streams,
    end: (channelId, accepted) => {
      ends.delete(channelId)
      ends.set(channelId, { last: streams, accepted })
      const [oldest = ""] = ends.keys()
      if (ends.size > channelsAtMost) ends.delete(oldest)
      for (const one of waiting.get(channelId) ?? []) if (isEnded(channelId, one)) one.resume()
    },
    ended: (channelId, stream, accepted) =>
      Effect.callback((resume) => {
        const one = { stream, accepted, resume: () => resume(Effect.void) }
        if (isEnded(channelId, one)) return one.resume()
        const all = waiting.get(channelId) ?? new Set()
        waiting.set(channelId, all.add(one))
        return Effect.sync(() => {
          all.delete(one)
          if (all.size === 0 && waiting.get(channelId) === all) waiting.delete(channelId)
        })
      })
  }
}

const all = new WeakMap<object, StreamEnds>()

/** The ends of a facilitator's streams. */
export const of = (facilitator: object): StreamEnds => {
  const ends = all.get(facilitator) ?? make()
  all.set(facilitator, ends)
  return ends
}
