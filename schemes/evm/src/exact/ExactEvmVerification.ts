/**
 * Verification of a payment on an EVM chain: one simulated transfer with a gas cap, whose success proves balance, nonce,
 * time, blocks and pauses at once. An account with code is asked by the token itself (ERC-1271), so its signature is never
 * judged here, and what its code may do is judged on its own.
 */
import type { ChainUnavailable, FacilitatorUnavailable, Payment, PaymentError, ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"
import type { CallOf } from "./ExactEvmPreparation.ts"

/** Verifies. Succeeds only when the token would move the money now, and the payment may be risked. */
export const verify = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  callOf: CallOf,
  payment: Payment<SignedAuthorization>
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable> {
  const { payload } = payment
  yield* chain.losses.allow(payment)
  const call = yield* callOf(payment)
  yield* chain.prove(payload.token)
  if (call.isByKey) {
    const outcome = yield* chain.simulate(call)
    if (outcome._tag === "Returned") return
    if (outcome._tag === "Reverted") {
      return yield* EvmRefusal.fromRevert(chain.network, yield* EvmRevert.explain(outcome))
    }
  }
  const alone = EvmTransferCall.ofCode(call)
  payload.found.codeHash = yield* chain.judgeCode(alone, payload)
  payload.found.call = alone
  if (payload.found.codeHash !== undefined) yield* chain.losses.allow(payment)
})
