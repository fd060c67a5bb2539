/**
 * Reads payments of `exact` on EVM: what was signed, in the words all schemes share, from the signed bytes alone.
 */
import { type Asset, invalid, type Payment, type PaymentRequirements, refuse } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as ExactEvm from "./ExactEvm.ts"

/** A payment as the settling half holds it: what was signed, and its token. */
export interface SignedAuthorization extends ExactEvm.Payload {
  readonly token: Asset
  readonly found: Found
}

/**
 * What was found out about a payment as long as it is held. It is a part of what is held: by a `WeakMap` it would outlive
 * that until the whole heap is collected.
 */
export interface Found {
  /** The call that would move the money, once its signature was judged. */
  call?: TransferCall
  /** What tells the code of the payer's account from other code, where it has some that is not known. */
  codeHash?: string | undefined
}

/** The token of an offer, by its text. */
export type TokenOf = (network: string, text: string) => Asset | undefined

/** Reads a payment. No token is read that the offer's is not one of; the binding, if there is one, is proven. */
export const read = Effect.fnUntraced(function* (
  network: string,
  tokenOf: TokenOf,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const payload = yield* ExactEvm.decodePayload(json)
  const { authorization, binding } = payload
  const token = requirements.asset === undefined ? undefined : tokenOf(network, requirements.asset)
  if (token === undefined) {
    const message = `payments in ${requirements.asset ?? "an unnamed asset"} on ${network} are not settled here`
    return yield* invalid("asset_mismatch", "asset_not_settled", message)
  }
  if (binding !== undefined && authorization.nonce !== (yield* ExactEvm.boundNonce(binding))) {
    const message = "the authorization's nonce is not the one that its challenge and salt give"
    return yield* invalid("binding_mismatch", "nonce_not_bound", message)
  }
  if (authorization.to === EvmAddress.zero) {
    return yield* refuse("INVALID_RECIPIENT", "zero_address", "the payment goes to the zero address")
  }
  const payment: Payment<SignedAuthorization> = {
    requirements,
    payload: { ...payload, token, found: {} },
    authorization: {
      payer: EvmAddress.checksum(authorization.from),
      payTo: EvmAddress.checksum(authorization.to),
      asset: token.address,
      amount: authorization.value,
      nonce: authorization.nonce,
      validAfter: seconds(authorization.validAfter),
      validBefore: seconds(authorization.validBefore),
      binding
    }
  }
  return payment
})

/** Times beyond what a number holds exactly are as good as for ever. */
const seconds = (time: bigint): number =>
  time > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(time)
