/** The second leg of a trial's payments: to another chain over a bridge (`TrialRoutes`), or from an operator's own money there (`TrialInventory`). */
import type { EvmTestChain } from "@pontage/evm/testing"
import type * as Effect from "effect/Effect"

import type { FarFacts, NearFacts } from "../audit/CrossingFacts.ts"
import type { ChainRpc } from "../world/ChainRpc.ts"
import type * as TrialPayment from "../world/TrialPayment.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { TrialSettings } from "../world/TrialSettings.ts"

/** Signs a payment that goes on; its amount is what arrives. */
export type SignOnward = (
  market: TrialPayment.Market,
  terms: TrialPayment.Terms,
  random: TrialRandom
) => Promise<TrialPayment.TrialPayment>

/** The second leg. */
export interface OnwardLeg {
  readonly second: EvmTestChain.Shape
  /** The second chain's node. */
  readonly rpc: ChainRpc
  /** The settings of the facilitator for it. */
  readonly settings: Pick<TrialSettings, "routes" | "inventory">
  readonly sign: SignOnward
  /** The account on the first chain that such payments are paid to. */
  readonly account: string
  readonly readNear: (firstBlock: bigint) => Effect.Effect<NearFacts>
  readonly readFar: (payee: string) => Effect.Effect<FarFacts>
  /** Delivers nothing from now on, until it is released. */
  readonly hold: Effect.Effect<void>
  readonly release: Effect.Effect<void>
  /** Whether this number of departures can be delivered since the release. */
  readonly isReleased: (departed: number) => boolean
  /** The blocks until a block is final, where a leg is held by them; default those of the world. */
  readonly heldDepth?: number
}
