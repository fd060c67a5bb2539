/**
 * The scheme `exact` on EVM chains: its definition and its payloads. The payer signs an EIP-3009 transfer authorization for
 * exactly the amount, a user operation (ERC-4337) that transfers it, or a transfer by Permit2; then anyone may submit it, and no
 * one can change it.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { type Scheme, invalid, type ValidationError } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as InventoryRoute from "../route/InventoryRoute.ts"
import * as Eip2612 from "../transfer/Eip2612.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as PayerDelegation from "../transfer/PayerDelegation.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as UserOperation from "../transfer/UserOperation.ts"

/** The definition that the scheme's client, server and facilitator share. */
export const scheme: Scheme = {
  name: "exact",
  family: "eip155",
  network: EvmNetwork.fromText,
  address: (text) => {
    const address = EvmAddress.fromText(text)
    return address && EvmAddress.checksum(address)
  },
  recipientFault: EvmAddress.recipientFault
}

/**
 * The scheme's payload: the authorization with its numbers as decimal strings, the signature in hexadecimal, and the
 * binding of the nonce to a request where there is one.
 */
export const Payload = /* @__PURE__ */ Schema.Struct({
  signature: Schema.String,
  authorization: Eip3009.TransferWithAuthorization,
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type Payload = typeof Payload.Type

/**
 * The payload of a smart account: its signed user operation, the EntryPoint that it is for, the authorization by
 * which a plain account delegates to code first (EIP-7702), and the binding of its nonce or of its tag to a request where there is one.
 */
export const OperationPayload = /* @__PURE__ */ Schema.Struct({
  entryPoint: EvmAddress.FromText,
  userOperation: UserOperation.UserOperation,
  delegation: /* @__PURE__ */ Schema.optionalKey(PayerDelegation.PayerDelegation),
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type OperationPayload = typeof OperationPayload.Type

/**
 * The payload of a transfer by Permit2: its terms, the payer's signature, the approval of Permit2 by signature (EIP-2612) where
 * the payer has not approved it before, and the binding of its nonce to a request where there is one.
 */
export const PermitPayload = /* @__PURE__ */ Schema.Struct({
  signature: Schema.String,
  permit2Authorization: Permit2.PermitTransfer,
  eip2612GasSponsoring: /* @__PURE__ */ Schema.optionalKey(Eip2612.SignedApproval),
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type PermitPayload = typeof PermitPayload.Type

/** The payload of a payment that goes on to another chain: the authorization of the router, and the route that its nonce names. */
export const RoutedPayload = /* @__PURE__ */ Schema.Struct({
  signature: Schema.String,
  authorization: Eip3009.TransferWithAuthorization,
  route: BridgeRoute.BridgeRoute,
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type RoutedPayload = typeof RoutedPayload.Type

/**
 * The payload of a payment that an operator delivers from its inventory: the authorization of the operator's account, and the route that
 * its nonce names.
 */
export const InventoryPayload = /* @__PURE__ */ Schema.Struct({
  signature: Schema.String,
  authorization: Eip3009.TransferWithAuthorization,
  inventory: InventoryRoute.InventoryRoute,
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

export type InventoryPayload = typeof InventoryPayload.Type

const decode = /* @__PURE__ */ Schema.decodeUnknownEffect(Payload)
const decodeInventory = /* @__PURE__ */ Schema.decodeUnknownEffect(InventoryPayload)
const decodeRouted = /* @__PURE__ */ Schema.decodeUnknownEffect(RoutedPayload)
const decodeOperation = /* @__PURE__ */ Schema.decodeUnknownEffect(OperationPayload)
const decodePermit = /* @__PURE__ */ Schema.decodeUnknownEffect(PermitPayload)

/** Decodes the payload of an authorization; fails with `malformed`. */
export const decodePayload = (json: unknown): Effect.Effect<Payload, ValidationError> =>
  Effect.mapError(decode(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not an EIP-3009 authorization: ${error.message}`)
  )

/** The way to pay of a payload, by the field that only it has; everything else is read as an authorization. */
export const methodOf = (json: unknown): "authorization" | "userOperation" | "permit2" | "route" | "inventory" => {
  if (typeof json !== "object" || json === null) return "authorization"
  if ("userOperation" in json) return "userOperation"
  if ("route" in json) return "route"
  if ("inventory" in json) return "inventory"
  return "permit2Authorization" in json ? "permit2" : "authorization"
}

/** Decodes the payload of a user operation; fails with `malformed`. */
export const decodeOperationPayload = (json: unknown): Effect.Effect<OperationPayload, ValidationError> =>
  Effect.mapError(decodeOperation(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a user operation: ${error.message}`)
  )

/** Decodes the payload of a payment by a route; fails with `malformed`. */
export const decodeRoutedPayload = (json: unknown): Effect.Effect<RoutedPayload, ValidationError> =>
  Effect.mapError(decodeRouted(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a payment by a route: ${error.message}`)
  )

/** Decodes the payload of a payment to an inventory; fails with `malformed`. */
export const decodeInventoryPayload = (json: unknown): Effect.Effect<InventoryPayload, ValidationError> =>
  Effect.mapError(decodeInventory(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a payment to an inventory: ${error.message}`)
  )

/** Decodes the payload of a transfer by Permit2; fails with `malformed`. */
export const decodePermitPayload = (json: unknown): Effect.Effect<PermitPayload, ValidationError> =>
  Effect.mapError(decodePermit(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is not a transfer by Permit2: ${error.message}`)
  )

/** The name of the bit that a transfer by Permit2 consumes, whatever its token: `permit2:<owner>:<nonce>`. */
export const permitClaim = (owner: EvmAddress.Address, nonce: bigint): string =>
  `permit2:${EvmAddress.checksum(owner)}:${nonce}`

/** The name of the nonce that a user operation consumes: `userop:<entryPoint>:<sender>:<nonce>`. */
export const operationClaim = (entryPoint: EvmAddress.Address, sender: EvmAddress.Address, nonce: bigint): string =>
  `userop:${EvmAddress.checksum(entryPoint)}:${EvmAddress.checksum(sender)}:${nonce}`

/**
 * The nonce of an authorization: 24 bytes and then 8 zero bytes. It suits tokens with random nonces and tokens that read a
 * nonce as a 192-bit key and a 64-bit sequence.
 */
export const nonceFrom = (bytes: Uint8Array): EvmHex.Hex => `${EvmHex.fromBytes(bytes.subarray(0, 24))}0000000000000000`

/**
 * The nonce that binds an authorization to a request: the first 24 bytes of the binding's tag; for a challenge of the Machine
 * Payments Protocol the whole hash of its id and realm.
 */
export const boundNonce = (binding: RequestBinding): Effect.Effect<EvmHex.Hex> => {
  const text = Binding.hashedText(binding)
  return text === undefined
    ? Effect.map(Binding.tag(binding), nonceFrom)
    : Effect.sync(() => EvmHex.fromBytes(keccak_256(utf8.encode(text))))
}

const utf8 = new TextEncoder()
