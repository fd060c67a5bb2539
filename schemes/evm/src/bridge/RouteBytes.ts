/**
 * Recorded bytes of routed payments before they are sent, for the first time or again. They bring the price that their message had when
 * they were signed, and a tenth more: where the price has risen further since, they would revert and use their slot up. They are replaced
 * then, in the same slot, by bytes with the present price (`RoutePayers.valueNow`).
 */
import type { PreparedTransaction, SubmitResult } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import * as OftCalls from "./OftCalls.ts"

/** The reason why bytes are not sent: their message costs more than they bring. None while its price cannot be read. */
export const outdated = Effect.fnUntraced(function* (
  lagGuard: EvmLagGuard.EvmLagGuard,
  { bytes }: PreparedTransaction
): Effect.fn.Return<Extract<SubmitResult, { readonly _tag: "Outdated" }> | undefined> {
  const call = Eip1559.callIn(bytes)
  const route = call?.to === RouteRouters.routers.oft.address ? BridgeRoute.sentBy(call.data) : undefined
  if (route === undefined) return undefined
  const fee = yield* Effect.catch(OftCalls.messageFee(lagGuard, route), () => Effect.undefined)
  const value = call?.value ?? 0n
  return fee === undefined || fee <= value
    ? undefined
    : { _tag: "Outdated", message: `its message costs ${fee} wei now, and it brings ${value}` }
})
