/** One end of a crossing: of an OFT with LayerZero's endpoint and its id, or of CCTP's messenger with its transmitter and its domain. */
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type { EvmBridge } from "../route/EvmBridges.ts"

/** One side of a crossing, as it is configured: a bridge, and a node of its chain. */
export interface CrossingSide {
  readonly rpc: EvmRpc.Shape
  readonly bridge: EvmBridge
}

/** The contracts on one chain. */
export interface CrossingEnd {
  readonly token: EvmAddress.Address
  readonly bridge: EvmAddress.Address
  readonly endpoint: EvmAddress.Address
  readonly endpointId: number
}
