/**
 * Verification of a payment on an EVM chain: one simulated transfer with a gas cap, whose success proves balance, nonce,
 * time, blocks and pauses at once. An account with code is asked by the token itself (ERC-1271), so its signature is never
 * judged here.
 */
import type { ChainUnavailable, PaymentError, ValidationError } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as EvmRefusal from "./EvmRefusal.ts"
import * as EvmRevert from "./EvmRevert.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import type { Simulate } from "./TransferSimulation.ts"

/**
 * Simulates the transfer. Succeeds only when the token would move the money now.
 *
 * @category combinators
 */
export const verify = Effect.fnUntraced(function* (
  network: string,
  simulate: Simulate,
  call: TransferCall
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable> {
  const outcome = yield* simulate(call)
  if (outcome._tag === "Reverted") return yield* EvmRefusal.fromRevert(network, yield* explainRevert(outcome))
})

/**
 * Why a simulated transfer reverts. Some tokens have one word for both ends of the validity; which one it is, our clock
 * tells.
 *
 * @category conversions
 */
export const explainRevert = (revert: Parameters<typeof EvmRevert.fromCall>[0]): Effect.Effect<EvmRevert.EvmRevert> =>
  Effect.map(Clock.currentTimeMillis, (now) => EvmRevert.fromCall(revert, BigInt(Math.floor(now / 1000))))
