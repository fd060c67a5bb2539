/** A node's address behind which another node, or another time, can be put while it is used. */
import { JsonRpcRelay } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const decodeBlock = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Unknown))

/** Starts it before a node; it goes away with the scope. */
export const make = Effect.fnUntraced(function* (first: string) {
  let [url, shift] = [first, 0]
  const later = (block: unknown) => {
    const fields = decodeBlock(block)
    const time = BigInt(String(fields["timestamp"])) + BigInt(shift)
    return { ...fields, timestamp: `0x${time.toString(16)}` }
  }
  const relay = yield* JsonRpcRelay.make(
    JsonRpcRelay.each(async (request) => {
      const answer = await JsonRpcRelay.passTo(url)(request)
      const { result } = answer
      const isShifted = request.method === "eth_getBlockByNumber" && shift !== 0
      return isShifted && result !== undefined && result !== null ? { result: later(result) } : answer
    })
  )
  return {
    url: relay.url,
    /** From now on another node answers. */
    switchTo: (other: string) => void (url = other),
    /** Delays the time of all later blocks, in seconds. */
    shiftBy: (seconds: number) => void (shift = seconds)
  }
})
