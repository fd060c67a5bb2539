/**
 * The call of the router that submits a payment by a route. Only the payer's own key may have signed it: the code of an account would
 * run with the price of a message at stake.
 */
import { type ChainUnavailable, invalid, type PaymentError, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import * as BridgeRoute from "./BridgeRoute.ts"

/** Gas for the token, the router and the bridge: LayerZero takes about 390 000 with one verifier network. */
export const gas = 800_000n

/** Makes the call; `value` is the price of the bridge's message in wei, and the router returns what is left of it. */
export const make = Effect.fnUntraced(function* (
  context: EvmTransferCall.Context,
  domain: Eip3009.Domain,
  { authorization, route, signature: text }: RoutedAuthorization,
  value: bigint
): Effect.fn.Return<EvmTransferCall.TransferCall, PaymentError | ValidationError | ChainUnavailable> {
  const signature = yield* Effect.fromResult(EvmTransferCall.signatureOf(text))
  if (signature._tag !== "Ecdsa") return yield* plainAccountsAlone
  const isByKey = yield* EvmTransferCall.isByKey(context, authorization.from, signature, (keccak256) =>
    Eip3009.receiveDigest(domain, authorization, keccak256)
  )
  if (!isByKey) return yield* plainAccountsAlone
  return {
    to: authorization.to,
    data: BridgeRoute.encodePay(authorization, signature.hex, route),
    gas,
    value,
    payer: authorization.from,
    isByKey,
    plain: undefined
  }
})

/** A signed authorization of the router, and its route. */
export interface RoutedAuthorization {
  readonly authorization: Eip3009.TransferWithAuthorization
  readonly route: BridgeRoute.BridgeRoute
  readonly signature: string
}

/** The refusal of an account with code. */
export const plainAccountsAlone = invalid(
  "unsupported_authorization",
  "route_payer_code",
  "payments that go on to another network are settled for plain accounts alone, by their own key; pay from a plain account"
)
