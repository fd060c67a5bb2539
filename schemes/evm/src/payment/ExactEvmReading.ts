/**
 * Reads payments of `exact` on EVM: from the signed bytes alone, into the form that all schemes share.
 */
import {
  type Asset,
  invalid,
  type Network,
  type Payment,
  type PaymentError,
  type PaymentRequirements,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as ExactEvm from "./ExactEvm.ts"
import * as InventoryReading from "./InventoryReading.ts"
import * as InventoryTerms from "./InventoryTerms.ts"
import * as OperationReading from "./OperationReading.ts"
import * as PermitReading from "./PermitReading.ts"
import * as RouteReading from "./RouteReading.ts"
import * as RouteTerms from "./RouteTerms.ts"

/**
 * A payment's payload in the facilitator: the signed authorization, its token, and findings about it. A user operation and a
 * transfer by Permit2 have their terms as its authorization.
 */
export interface SignedAuthorization extends ExactEvm.Payload {
  readonly operation?: OperationReading.SignedOperation | undefined
  readonly permit?: PermitReading.SignedPermit | undefined
  readonly route?: RouteReading.SignedRoute | undefined
  readonly inventory?: InventoryReading.SignedInventory | undefined
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
  /** Whether the call submits the approval of Permit2 that the payment brings. */
  submitsApproval?: boolean
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
  const payload = yield* decoded(network, requirements, json)
  const { authorization, binding, inventory, operation, permit, route } = payload
  const token = requirements.asset === undefined ? undefined : tokenOf(network, requirements.asset)
  if (token === undefined) {
    const message = `payments in ${requirements.asset ?? "an unnamed asset"} on ${network} are not settled here`
    return yield* invalid("asset_mismatch", "asset_not_settled", message)
  }
  const signedToken = operation?.token ?? permit?.transfer.permitted.token
  if (signedToken !== undefined && signedToken !== EvmAddress.fromText(token.address)) {
    const message = `the payment transfers ${EvmAddress.checksum(signedToken)}, not ${token.address}`
    return yield* invalid("asset_mismatch", operation === undefined ? "permit_token" : "operation_token", message)
  }
  if (signedToken === undefined && !EvmAsset.hasAuthorizations(token)) {
    const message = `the token ${token.symbol} has no transfer authorizations (EIP-3009); pay in it by Permit2 or by a user operation, as the offer says`
    return yield* invalid("unsupported_authorization", "token_without_authorizations", message)
  }
  if (binding !== undefined) {
    const bound = yield* ExactEvm.boundNonce(binding)
    const tag = route?.route.tag ?? inventory?.route.tag ?? operation?.tag
    if (authorization.nonce !== bound && tag !== bound) {
      const message = "the authorization's nonce does not match its challenge and salt"
      return yield* invalid("binding_mismatch", "nonce_not_bound", message)
    }
  }
  if (
    route === undefined &&
    (RouteTerms.isRouted(requirements) || RouteRouters.kindAt(authorization.to) !== undefined)
  ) {
    const message = "the offer is paid by a route, and money that reaches its router in another way stays there"
    return yield* refuse("INVALID_RECIPIENT", "route_missing", message)
  }
  if (inventory === undefined && InventoryTerms.isInventory(requirements)) {
    const message =
      "the offer is delivered from an inventory, and money that reaches it without a route pays for nothing"
    return yield* refuse("INVALID_RECIPIENT", "inventory_missing", message)
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
      nonce: operation?.claim ?? permit?.claim ?? authorization.nonce,
      validAfter: seconds(authorization.validAfter),
      validBefore: seconds(authorization.validBefore),
      binding,
      ...(route && { arrival: { amount: route.route.minimum, asked: route.asked } }),
      ...(inventory && { arrival: { amount: inventory.route.amount, asked: inventory.asked } })
    }
  }
  return payment
})

const decoded = Effect.fnUntraced(function* (
  network: Network.Network,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
): Effect.fn.Return<Omit<SignedAuthorization, "token" | "cache">, ValidationError | PaymentError> {
  switch (ExactEvm.methodOf(json)) {
    case "userOperation":
      return yield* OperationReading.read(network, yield* ExactEvm.decodeOperationPayload(json))
    case "permit2":
      return yield* PermitReading.read(yield* ExactEvm.decodePermitPayload(json))
    case "route":
      return yield* RouteReading.read(network, requirements, yield* ExactEvm.decodeRoutedPayload(json))
    case "inventory":
      return yield* InventoryReading.read(network, requirements, yield* ExactEvm.decodeInventoryPayload(json))
    case "authorization":
      return yield* ExactEvm.decodePayload(json)
  }
})

/** A time beyond the safe integers becomes the largest safe integer: it never comes. */
const seconds = (time: bigint): number =>
  time > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(time)
