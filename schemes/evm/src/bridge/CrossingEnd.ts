/** One end of a crossing: of an OFT with LayerZero's endpoint and its id, or of CCTP's messenger with its transmitter and its domain. */
import type * as EvmAddress from "../primitives/EvmAddress.ts"

/** The contracts on one chain. */
export interface CrossingEnd {
  readonly token: EvmAddress.Address
  readonly bridge: EvmAddress.Address
  readonly endpoint: EvmAddress.Address
  readonly endpointId: number
}
