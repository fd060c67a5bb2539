/**
 * The names of a refund's jobs. A repeated request is the same job while that is under way or done, and a new one as soon as it has
 * ended without the refund. The contract makes one refund at each place of a channel's count, so no try is paid beside another.
 */
import type { JobRecord, JobRecords } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as EvmHex from "../primitives/EvmHex.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import type { Place } from "./RefundEvidence.ts"

/** The name of a job, and the end of its validity in Unix seconds. */
export type Name = {
  readonly id: EvmHex.Hex
  readonly until: number
}

/** The job of a request; `isKnown` if it, or one with other terms at the same place, is under way or done. */
export interface Tries {
  readonly job: Name
  readonly isKnown: boolean
}

/** Half a day: the end of a job's validity is one of its multiples, so that a repeated request finds it. */
const halfDay = 43_200

/** Finds the job that is on record at a place, of this half day or of the two before; else the next one's name. */
export const find = Effect.fnUntraced(function* (
  { callContext: { crypto } }: ChannelChain,
  { channelId, nonce }: Place,
  recordOf: (job: Name) => ReturnType<JobRecords>
): Effect.fn.Return<Tries, Effect.Error<ReturnType<JobRecords>>> {
  const nameOf = (until: number, round: number): Name => {
    const words = [nonce, BigInt(until), BigInt(round)].map((one) => EvmHex.toWord(one)).join("")
    return { id: EvmHex.fromBytes(crypto.keccak256(EvmHex.toBytes(`0x${channelId.slice(2)}${words}`))), until }
  }
  const last = Math.floor((yield* Clock.currentTimeMillis) / 1000 / halfDay) + 2
  let job = nameOf(last * halfDay, 0)
  for (const end of [last - 2, last - 1, last]) {
    let record: JobRecord = "ended"
    for (let round = 0; record === "ended"; round++) {
      job = nameOf(end * halfDay, round)
      record = yield* recordOf(job)
    }
    if (record !== "none") return { job, isKnown: true }
  }
  return { job, isKnown: false }
})
