/** Counts the runs of each channel that cost nothing in an hour. */
import * as BoundedMap from "../../platform/BoundedMap.ts"

/** Limits: the runs of a channel in an hour, the channels that are counted, and the length of the hour in milliseconds. */
export interface Limits {
  readonly perHour: number
  readonly channels: number
  readonly hour: number
}

/** The counts. Instants in Unix milliseconds. */
export interface FreeRuns {
  readonly count: (channelId: string, now: number) => void
  /** Whether the channel has had all its free runs of the hour. */
  readonly isOver: (channelId: string, now: number) => boolean
}

/** Begins without runs. */
export const make = ({ channels, hour, perHour }: Limits): FreeRuns => {
  const counts = BoundedMap.oldestOut<string, { readonly since: number; readonly runs: number }>(channels)
  const runsOf = (channelId: string, now: number) => {
    const known = counts.get(channelId)
    return known !== undefined && now - known.since < hour ? known : { since: now, runs: 0 }
  }
  return {
    count: (channelId, now) => {
      const { runs, since } = runsOf(channelId, now)
      counts.set(channelId, { since, runs: runs + 1 })
    },
    isOver: (channelId, now) => runsOf(channelId, now).runs >= perHour
  }
}
