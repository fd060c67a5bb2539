/**
 * Verification of a payment on an EVM chain: one simulated transfer with a gas cap, whose success proves balance, nonce,
 * validity, blocklists and pauses at once (for a user operation `OperationPayers`). The token itself calls an account with code (ERC-1271), so this module does not
 * check such a signature; the account's code is checked separately. A refusal of the simulation counts only once `EvmLagGuard` has seen it
 * at the newest block.
 */
import {
  type ChainUnavailable,
  Delivery,
  type FacilitatorUnavailable,
  type Payment,
  type PaymentError,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as ServedInventory from "../inventory/ServedInventory.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import * as InventoryReading from "../payment/InventoryReading.ts"
import * as RouteReading from "../payment/RouteReading.ts"
import * as MinimumPrice from "../sending/MinimumPrice.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import * as DelegatedPayers from "./DelegatedPayers.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"
import type { CallOf } from "./ExactEvmPreparation.ts"
import * as PermitPayers from "./PermitPayers.ts"
import * as RoutePayers from "./RoutePayers.ts"

/** Verifies a payment. Succeeds only when the token would move the money now, and the loss budget allows the payment. */
export const verify = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  callOf: CallOf,
  payment: Payment<SignedAuthorization>
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable> {
  const { authorization, payload } = payment
  // The fee of a way to another network pays the operator for it, so what arrives is compared. A delivery is owed, whatever it costs.
  if (!Delivery.isPush(payment.requirements))
    yield* MinimumPrice.prove(chain.minimum, payload.token, authorization.arrival?.amount ?? authorization.amount)
  yield* chain.losses.allow(payment)
  if (payload.route !== undefined) yield* RouteReading.agree(payment.requirements, payload.route)
  if (payload.inventory !== undefined) {
    yield* InventoryReading.agree(payment.requirements, payload.inventory)
    yield* ServedInventory.verify(chain.inventory, payment, payload.inventory)
  } else yield* ServedInventory.demandRoute(chain.inventory, payload.authorization.to)
  const call = yield* callOf(payment)
  yield* chain.prove(payload.token)
  yield* PermitPayers.explained(chain.lagGuard, payload, verifyCall(chain, call, payment))
})

const verifyCall = Effect.fnUntraced(function* (
  chain: ExactEvmChain,
  call: EvmTransferCall.TransferCall,
  payment: Payment<SignedAuthorization>
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable> {
  const { payload } = payment
  if (payload.route !== undefined) return yield* RoutePayers.verify(chain, call, payload.route)
  if (payload.operation !== undefined) {
    const sent = yield* DelegatedPayers.callNow(chain.lagGuard, call)
    payload.cache.codeHash = yield* chain.judgeOperation(sent, payload, payload.operation)
    payload.cache.call = sent
    if (payload.cache.codeHash !== undefined) yield* chain.losses.allow(payment)
    return
  }
  if (call.isByKey) {
    const outcome = yield* chain.simulate(call)
    if (outcome._tag === "Returned") return
    if (outcome._tag === "Reverted") {
      return yield* EvmRefusal.fromRevert(chain.network, yield* EvmRevert.explain(outcome))
    }
  }
  const alone = EvmTransferCall.ofCode(call)
  payload.cache.codeHash = yield* chain.judgeCode(alone, payload)
  payload.cache.call = alone
  if (payload.cache.codeHash !== undefined) yield* chain.losses.allow(payment)
})
