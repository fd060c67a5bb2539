/** The two ends of a crossing by either kind of bridge, compared with both chains before money goes over it. */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as CctpEnds from "./CctpEnds.ts"
import type { CrossingEnd, CrossingSide } from "./CrossingEnd.ts"
import * as OftCalls from "./OftCalls.ts"
import * as OftEnds from "./OftEnds.ts"

/** Both ends, of tokens with these decimals; fails with `Misconfigured` and a sentence that names the constant which a chain contradicts. */
export const find = Effect.fnUntraced(function* (
  near: CrossingSide,
  far: CrossingSide,
  decimals: number
): Effect.fn.Return<{ readonly near: CrossingEnd; readonly far: CrossingEnd }, Misconfigured | ChainUnavailable> {
  const ends = yield* near.bridge.kind === "cctp" ? CctpEnds.find(near, far) : OftEnds.find(near, far)
  const { token } = far.bridge
  const found = yield* OftCalls.read(far.rpc, token, OftCalls.getters.decimals)
  if (found !== undefined && BigInt(found) === BigInt(decimals)) return ends
  return yield* new Misconfigured({
    message: `the token ${EvmAddress.checksum(token)} on ${far.rpc.network} does not have ${decimals} decimals, as on the first network`
  })
})
