/** The two ends of a crossing by an OFT of LayerZero, compared with both chains: tokens, endpoints and their ids, and trust in each other. */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { EvmBridge } from "../route/EvmBridges.ts"
import type { CrossingEnd, CrossingSide } from "./CrossingEnd.ts"
import * as OftCalls from "./OftCalls.ts"

/** Whether an OFT sends to another one. */
export const leads = ({ bridge, rpc }: CrossingSide, other: EvmBridge): Effect.Effect<boolean, ChainUnavailable> =>
  Effect.map(
    OftCalls.read(rpc, bridge.bridge, OftCalls.peers(other.endpointId)),
    (peer) => peer === OftCalls.toWord(other.bridge)
  )

/** Both ends; fails with `Misconfigured` where a chain contradicts. */
export const find = Effect.fnUntraced(function* (
  near: CrossingSide,
  far: CrossingSide
): Effect.fn.Return<{ readonly near: CrossingEnd; readonly far: CrossingEnd }, Misconfigured | ChainUnavailable> {
  const ends = { near: yield* endOf(near), far: yield* endOf(far) }
  yield* trusts(near, far.bridge)
  yield* trusts(far, near.bridge)
  return ends
})

/** An OFT whose token and endpoint are as configured. */
const endOf = Effect.fnUntraced(function* ({ bridge: configured, rpc }: CrossingSide) {
  const { bridge, endpointId, token } = configured
  const at = nameOf({ bridge: configured, rpc })
  const carried = yield* OftCalls.read(rpc, bridge, OftCalls.getters.token)
  if (carried !== OftCalls.toWord(token)) {
    return yield* wrong(
      `${at} carries ${shown(carried)}, not the token ${EvmAddress.checksum(token)}; correct the address in bridges`
    )
  }
  const word = yield* OftCalls.read(rpc, bridge, OftCalls.getters.endpoint)
  if (word === undefined) return yield* wrong(`${at} names no endpoint of LayerZero`)
  const endpoint = EvmAddress.fromTail(word)
  const id = yield* OftCalls.read(rpc, endpoint, OftCalls.getters.eid)
  if (id === undefined || BigInt(id) !== BigInt(endpointId)) {
    const found = id === undefined ? "none" : `${BigInt(id)}`
    return yield* wrong(`the endpoint of ${at} has the id ${found}, not ${endpointId}; correct endpointId in bridges`)
  }
  return { token, bridge, endpoint, endpointId }
})

const trusts = Effect.fnUntraced(function* (side: CrossingSide, other: EvmBridge) {
  const peer = yield* OftCalls.read(side.rpc, side.bridge.bridge, OftCalls.peers(other.endpointId))
  if (peer === OftCalls.toWord(other.bridge)) return
  return yield* wrong(`${nameOf(side)} takes messages of ${shown(peer)}, not of ${EvmAddress.checksum(other.bridge)}`)
})

const nameOf = ({ bridge, rpc }: CrossingSide) => `the OFT ${EvmAddress.checksum(bridge.bridge)} on ${rpc.network}`

const shown = (word: EvmHex.Hex | undefined) =>
  word === undefined ? "nothing" : EvmAddress.checksum(EvmAddress.fromTail(word))

const wrong = (what: string): Effect.Effect<never, Misconfigured> => Effect.fail(new Misconfigured({ message: what }))
