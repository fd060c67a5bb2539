/** The two ends of a crossing over CCTP, compared with both chains: transmitters, domains, trust in each other, and tokens. */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { EvmBridge } from "../route/EvmBridges.ts"
import * as CctpCalls from "./CctpCalls.ts"
import type { CrossingEnd, CrossingSide } from "./CrossingEnd.ts"
import * as OftCalls from "./OftCalls.ts"

/** Both ends; fails with `Misconfigured` where a chain contradicts. */
export const find = Effect.fnUntraced(function* (
  near: CrossingSide,
  far: CrossingSide
): Effect.fn.Return<{ readonly near: CrossingEnd; readonly far: CrossingEnd }, Misconfigured | ChainUnavailable> {
  const ends = { near: yield* endOf(near), far: yield* endOf(far) }
  yield* trusts(near, far.bridge)
  yield* trusts(far, near.bridge)
  yield* makes(far, near.bridge)
  return ends
})

const endOf = Effect.fnUntraced(function* ({ bridge, rpc }: CrossingSide) {
  const at = nameOf({ bridge, rpc })
  const word = yield* OftCalls.read(rpc, bridge.bridge, CctpCalls.getters.transmitter)
  if (word === undefined) return yield* wrong(`${at} names no transmitter of messages`)
  const endpoint = EvmAddress.fromTail(word)
  const domain = yield* OftCalls.read(rpc, endpoint, CctpCalls.getters.domain)
  if (domain === undefined || BigInt(domain) !== BigInt(bridge.endpointId)) {
    const found = domain === undefined ? "none" : `${BigInt(domain)}`
    return yield* wrong(`${at} is of the domain ${found}, not ${bridge.endpointId}; correct endpointId in bridges`)
  }
  return { token: bridge.token, bridge: bridge.bridge, endpoint, endpointId: bridge.endpointId }
})

const trusts = Effect.fnUntraced(function* (side: CrossingSide, other: EvmBridge) {
  const peer = yield* OftCalls.read(side.rpc, side.bridge.bridge, CctpCalls.remoteMessenger(other.endpointId))
  if (peer === OftCalls.toWord(other.bridge)) return
  return yield* wrong(`${nameOf(side)} does not trust ${EvmAddress.checksum(other.bridge)} of ${other.network}`)
})

/** The token that arrives is the one that is made for the first chain's. */
const makes = Effect.fnUntraced(function* (side: CrossingSide, other: EvmBridge) {
  const { bridge, rpc } = side
  const minter = yield* OftCalls.read(rpc, bridge.bridge, CctpCalls.getters.minter)
  const made =
    minter &&
    (yield* OftCalls.read(rpc, EvmAddress.fromTail(minter), CctpCalls.localToken(other.endpointId, other.token)))
  if (made === OftCalls.toWord(bridge.token)) return
  return yield* wrong(
    `${nameOf(side)} does not make ${EvmAddress.checksum(bridge.token)} for ${EvmAddress.checksum(other.token)} of ${other.network}; correct the address in bridges`
  )
})

const nameOf = ({ bridge, rpc }: CrossingSide) =>
  `CCTP's messenger ${EvmAddress.checksum(bridge.bridge)} on ${rpc.network}`

const wrong = (what: string): Effect.Effect<never, Misconfigured> => Effect.fail(new Misconfigured({ message: what }))
