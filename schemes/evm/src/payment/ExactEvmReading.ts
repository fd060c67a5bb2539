/**
 * Reads payments of `exact` on EVM: from the signed bytes alone, into the form that all schemes share.
 */
import { type Asset, invalid, type Network, type Payment, type PaymentRequirements, refuse } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as ExactEvm from "./ExactEvm.ts"
import * as OperationReading from "./OperationReading.ts"

/**
 * A payment's payload in the facilitator: the signed authorization, its token, and findings about it. A user operation has the
 * terms of its transfer as its authorization.
 */
export interface SignedAuthorization extends ExactEvm.Payload {
  readonly operation?: OperationReading.SignedOperation | undefined
  readonly token: Asset
  readonly cache: PaymentCache
}

/**
 * Results about a payment, kept as long as the payload. They are a part of it: in a `WeakMap` they would stay until the whole
 * heap is collected.
 */
export interface PaymentCache {
  /** The call that moves the money, once its signature was checked. */
  call?: TransferCall
  /** The hash of the payer's code, where that code is unknown. */
  codeHash?: string | undefined
}

/** The token of an offer, by its address; `undefined` for one that is not configured. */
export type TokenOf = (network: string, text: string) => Asset | undefined

/** Reads a payment. The offer's token has to be configured; the binding, if there is one, is verified. */
export const read = Effect.fnUntraced(function* (
  network: Network.Network,
  tokenOf: TokenOf,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const payload: Omit<SignedAuthorization, "token" | "cache"> = ExactEvm.isOperation(json)
    ? yield* OperationReading.read(network, yield* ExactEvm.decodeOperationPayload(json))
    : yield* ExactEvm.decodePayload(json)
  const { authorization, binding, operation } = payload
  const token = requirements.asset === undefined ? undefined : tokenOf(network, requirements.asset)
  if (token === undefined) {
    const message = `payments in ${requirements.asset ?? "an unnamed asset"} on ${network} are not settled here`
    return yield* invalid("asset_mismatch", "asset_not_settled", message)
  }
  if (operation !== undefined && operation.token !== EvmAddress.fromText(token.address)) {
    const message = `the user operation transfers ${EvmAddress.checksum(operation.token)}, not ${token.address}`
    return yield* invalid("asset_mismatch", "operation_token", message)
  }
  if (operation === undefined && !EvmAsset.hasAuthorizations(token)) {
    const message = `the token ${token.symbol} has no transfer authorizations (EIP-3009); pay in it by a user operation`
    return yield* invalid("unsupported_authorization", "token_without_authorizations", message)
  }
  if (binding !== undefined) {
    const bound = yield* ExactEvm.boundNonce(binding)
    if (authorization.nonce !== bound && operation?.tag !== bound) {
      const message = "the authorization's nonce does not match its challenge and salt"
      return yield* invalid("binding_mismatch", "nonce_not_bound", message)
    }
  }
  if (authorization.to === EvmAddress.zero) {
    return yield* refuse("INVALID_RECIPIENT", "zero_address", "the payment goes to the zero address")
  }
  const payment: Payment<SignedAuthorization> = {
    requirements,
    payload: { ...payload, token, cache: {} },
    authorization: {
      payer: EvmAddress.checksum(authorization.from),
      payTo: EvmAddress.checksum(authorization.to),
      asset: token.address,
      amount: authorization.value,
      nonce: operation?.claim ?? authorization.nonce,
      validAfter: seconds(authorization.validAfter),
      validBefore: seconds(authorization.validBefore),
      binding
    }
  }
  return payment
})

/** A time beyond the safe integers becomes the largest safe integer: it never comes. */
const seconds = (time: bigint): number =>
  time > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(time)
