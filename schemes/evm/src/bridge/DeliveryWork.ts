/** A delivery on its chain, of either bridge: its call, whether it was made, and by which transaction. */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type * as EvmBridges from "../route/EvmBridges.ts"
import * as CctpCalls from "./CctpCalls.ts"
import * as CctpDelivery from "./CctpDelivery.ts"
import * as DeliveryEvidence from "./DeliveryEvidence.ts"
import * as DeliveryPush from "./DeliveryPush.ts"
import * as OftCalls from "./OftCalls.ts"

/** A delivery. */
export interface DeliveryWork {
  readonly call: { readonly to: EvmAddress.Address; readonly data: EvmHex.Hex; readonly gas: bigint }
  readonly isDelivered: (block: EvmRpc.BlockTag) => Effect.Effect<boolean, ChainUnavailable>
  /** The delivery once it was made. */
  readonly arrival: Effect.Effect<DeliveryEvidence.Arrival, ChainUnavailable>
}

/** The delivery of a push, by the bridges that are served on its chain. */
export const make = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  bridges: EvmBridges.EvmBridges,
  { message, since }: DeliveryPush.DeliveryPush
): Effect.fn.Return<DeliveryWork, ChainUnavailable> {
  const receiver = DeliveryPush.receiverOf(message)
  const bridge = bridges.on(rpc.network).find((one) => one.bridge === receiver && one.kind === message.kind)
  const getter = message.kind === "oft" ? OftCalls.getters.endpoint : CctpCalls.getters.transmitter
  const word = yield* OftCalls.read(rpc, receiver, getter)
  if (bridge === undefined || word === undefined) {
    const text = `${EvmAddress.checksum(receiver)} is not one of the bridges of ${rpc.network}, or names no endpoint`
    return yield* new ChainUnavailable({ network: rpc.network, message: text })
  }
  const place = { bridge: bridge.bridge, token: bridge.token, endpoint: EvmAddress.fromTail(word) }
  const call = { to: place.endpoint, gas: DeliveryPush.gas }
  if (message.kind === "cctp") {
    return {
      call: { ...call, data: CctpCalls.encodeDelivery(message) },
      isDelivered: (block) => CctpCalls.isDelivered(rpc, place.endpoint, message.read.nonce, block),
      arrival: CctpDelivery.find(rpc, place, message, since)
    }
  }
  return {
    call: { ...call, data: OftCalls.encodeDelivery(message) },
    isDelivered: (block) =>
      Effect.map(OftCalls.stateOf(rpc, place.endpoint, message, block), (state) =>
        DeliveryEvidence.isDelivered(state, message)
      ),
    arrival: DeliveryEvidence.find(rpc, place, message.guid, since)
  }
})
