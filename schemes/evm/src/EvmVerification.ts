/**
 * Verification of a payment on an EVM chain: the signature offline, then one simulated transfer with a gas cap, whose
 * success proves balance, nonce, time, blocks and pauses at once. An account with code is asked by the token itself
 * (ERC-1271), so its signature is never judged here.
 */
import { type ChainUnavailable, invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as Eip3009 from "./Eip3009.ts"
import * as EvmAddress from "./EvmAddress.ts"
import type * as EvmHex from "./EvmHex.ts"
import * as EvmRefusal from "./EvmRefusal.ts"
import * as EvmRevert from "./EvmRevert.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import * as EvmSignature from "./EvmSignature.ts"
import type { RecoverPublicKey } from "./SignatureRecovery.ts"

/**
 * The call that would move the money, and what it may burn.
 *
 * @category models
 */
export interface TransferCall {
  readonly to: EvmAddress.Address
  readonly data: EvmHex.Hex
  readonly gas: bigint
}

/**
 * Gas for the transfer of a plain account: about 86 000 on the deployed dollar tokens, 17 000 more for a new recipient.
 *
 * @category constants
 */
export const plainGas = 150_000n

/**
 * Gas for the transfer of a contract account, whose code checks its own signature.
 *
 * @category constants
 */
export const contractGas = 400_000n

/**
 * The call that settles an authorization, after everything that can be said of its signature without trusting the payer:
 * a plain account's signature recovers to it, any other needs code at the payer's address.
 *
 * @category constructors
 */
export const transferCall = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  domain: Eip3009.Domain,
  authorization: Eip3009.TransferWithAuthorization,
  signatureText: string,
  recover: RecoverPublicKey
): Effect.fn.Return<TransferCall, PaymentError | ValidationError | ChainUnavailable> {
  const signature = EvmSignature.fromText(signatureText)
  const to = domain.verifyingContract
  switch (signature._tag) {
    case "Malformed":
      return yield* invalid(
        "malformed",
        `signature_${signature.reason}`,
        "the signature is not hexadecimal, or too long"
      )
    case "Erc6492":
      return yield* notDeployed
    case "Ecdsa": {
      const signer = EvmSignature.recoverAddress(Eip3009.digest(domain, authorization), signature, recover)
      if (signer === authorization.from) {
        return { to, data: Eip3009.encodeTransferByParts(authorization, signature.hex), gas: plainGas }
      }
      yield* requireCode(rpc, authorization.from, "payer_mismatch", `signed by ${signer ?? "nobody"}`)
      return { to, data: Eip3009.encodeTransferByBytes(authorization, signature.hex), gas: contractGas }
    }
    case "ContractOnly":
      yield* requireCode(rpc, authorization.from, signature.irregularity, explain[signature.irregularity])
      return { to, data: Eip3009.encodeTransferByBytes(authorization, signature.hex), gas: contractGas }
  }
})

/**
 * Simulates the transfer. Succeeds only when the token would move the money now.
 *
 * @category combinators
 */
export const simulate = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  from: EvmAddress.Address,
  call: TransferCall
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable> {
  const outcome = yield* rpc.call({ from, ...call })
  if (outcome._tag === "Reverted") return yield* EvmRefusal.fromRevert(rpc.network, yield* explainRevert(outcome))
})

/**
 * Why a simulated transfer reverts. Some tokens have one word for both ends of the validity; which one it is, our clock
 * tells.
 *
 * @category conversions
 */
export const explainRevert = (revert: Parameters<typeof EvmRevert.fromCall>[0]): Effect.Effect<EvmRevert.EvmRevert> =>
  Effect.map(Clock.currentTimeMillis, (now) => EvmRevert.fromCall(revert, BigInt(Math.floor(now / 1000))))

const notDeployed = invalid(
  "unsupported_authorization",
  "erc6492",
  "the payer is a contract account that is not deployed yet (ERC-6492): the token cannot ask it. Deploy the account, then sign again"
)

const explain: Readonly<Record<EvmSignature.Irregularity, string>> = {
  compact: "of 64 bytes (EIP-2098), where the token takes 65",
  recovery_id: "of a recovery id other than 27 and 28",
  high_s: "the malleated twin of a signature (its s is in the upper half)",
  length: "not of 65 bytes"
}

/** Only an account with code may have such a signature. */
const requireCode = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  payer: EvmAddress.Address,
  detail: string,
  what: string
) {
  if ((yield* rpc.getCode(payer)) !== "0x") return
  const message = `the signature is ${what}; expected one by the payer ${EvmAddress.checksum(payer)}`
  return yield* refuse("INVALID_SIGNATURE", detail, message)
})
