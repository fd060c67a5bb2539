/**
 * Payments by Permit2 against the chain: the contracts that they need, and the reason of a refusal that Permit2 does not pass on.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import {
  type ChainUnavailable,
  invalid,
  Misconfigured,
  type PaymentError,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type { SignedPermit } from "../payment/PermitReading.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as Permit2 from "../transfer/Permit2.ts"

/** Keccak-256 of the proxy's code, which is the same on every chain. */
const proxyHash = "0xce6429c0bb49284660683287c0a8fe548a88379072327d026626909d202048b9"

/** DOMAIN_SEPARATOR() */
const separatorCall = { to: Permit2.address, data: "0x3644e515", gas: 100_000n } as const

/** Checks that a network has Permit2, and x402's proxy by its code. */
export const prove = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  chainId: number
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const separator = yield* rpc.call(separatorCall)
  if (separator._tag !== "Returned" || separator.data !== Permit2.domainSeparator(chainId)) {
    return yield* missing(rpc.network, "Permit2", Permit2.address)
  }
  const code = yield* rpc.getCode(Permit2.proxy)
  if (EvmHex.fromBytes(keccak_256(EvmHex.toBytes(code))) !== proxyHash) {
    return yield* missing(rpc.network, "ExactPermit2Proxy", Permit2.proxy)
  }
})

const missing = (network: string, name: string, address: EvmAddress.Address) =>
  new Misconfigured({
    message: `exactEvm.facilitator: permit2: ${network} has no contract ${name} at ${EvmAddress.checksum(address)}; leave out permit2 there`
  })

/** Gives a failure that only says that the token refused Permit2 its exact reason: the approval, or the balance. */
export const explained = <A, E extends { readonly detail?: string } | { readonly _tag: string }>(
  guard: EvmLagGuard.EvmLagGuard,
  held: SignedAuthorization,
  verified: Effect.Effect<A, E>
): Effect.Effect<A, E | PaymentError | ValidationError | ChainUnavailable> => {
  const { permit } = held
  if (permit === undefined) return verified
  return Effect.catch(verified, (error) =>
    Effect.andThen(
      "detail" in error && error.detail === EvmRefusal.fromFailed ? reason(guard, held, permit) : Effect.void,
      Effect.fail(error)
    )
  )
}

/** Fails where the balance or the approval is too low at the newest block. */
const reason = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  held: SignedAuthorization,
  { approval }: SignedPermit
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable> {
  const { value } = held.authorization
  const balance = yield* read(guard, held, balanceCall)
  if (balance !== undefined && balance < value) {
    const message = "the payer holds less of the token than the payment"
    return yield* refuse("INSUFFICIENT_BALANCE", "balance_below_amount", message)
  }
  const allowance = yield* read(guard, held, allowanceCall)
  if (allowance === undefined || allowance >= value) return
  const brought =
    approval === undefined ? "" : " (the token does not accept the approval that it brings: sign that anew)"
  return yield* invalid(
    "unsupported_authorization",
    "allowance_below_amount",
    `the payer lets Permit2 move ${allowance} of the token, and the payment is of ${value}${brought}; approve Permit2 (${EvmAddress.checksum(Permit2.address)}) in the token first`
  )
})

const balanceCall = ({ from }: SignedAuthorization["authorization"]): EvmHex.Hex =>
  `0x70a08231${AbiEncoding.address(from)}`

const allowanceCall = ({ from }: SignedAuthorization["authorization"]): EvmHex.Hex =>
  `0xdd62ed3e${AbiEncoding.address(from)}${AbiEncoding.address(Permit2.address)}`

/** A number of the token's, `undefined` where it returns none. A low one speaks against the payer, so it is confirmed. */
const read = (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  { authorization, token }: SignedAuthorization,
  callOf: typeof balanceCall
): Effect.Effect<bigint | undefined, ChainUnavailable> => {
  const call = { to: EvmAsset.domain(token).verifyingContract, data: callOf(authorization), gas: 100_000n }
  return Effect.map(
    judge(
      (block) => rpc.call(call, block),
      (answer) =>
        answer._tag === "Returned" && EvmHex.isBytes32(answer.data) && BigInt(answer.data) < authorization.value
    ),
    (answer) => (answer._tag === "Returned" && EvmHex.isBytes32(answer.data) ? BigInt(answer.data) : undefined)
  )
}

/**
 * The amount that Permit2 may move of a payer's token now; `undefined` for a payment by another way. An approval that is submitted
 * (EIP-2612) sets it to the payment's own amount and uses up a nonce of the token, so every other payment of the payer has to end
 * before. Payments that come later wait too: what Permit2 may move without the approval is less than the payment reserves.
 */
export const allowance = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  held: SignedAuthorization
): Effect.fn.Return<bigint | undefined, ChainUnavailable> {
  const { authorization, cache, permit } = held
  if (permit === undefined) return undefined
  const allowed = yield* read(guard, held, allowanceCall)
  if (permit.approval === undefined) return allowed
  const suffices = allowed !== undefined && allowed >= authorization.value
  // The call is made as the balance is judged.
  if (cache.submitsApproval === suffices) delete cache.call
  cache.submitsApproval = !suffices
  return suffices ? allowed : authorization.value
})

/**
 * Whether the approval that a payment brings is submitted with it. Where Permit2 may move the amount already, the approval would only
 * reduce what the payer's other payments count on.
 */
export const submitsApproval = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  held: SignedAuthorization
): Effect.fn.Return<boolean, ChainUnavailable> {
  const { authorization, cache, permit } = held
  if (permit?.approval === undefined) return false
  if (cache.submitsApproval === undefined) {
    const allowed = yield* read(guard, held, allowanceCall)
    cache.submitsApproval = allowed === undefined || allowed < authorization.value
  }
  return cache.submitsApproval
})
