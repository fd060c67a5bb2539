/**
 * Reads transfers by Permit2 as payments: from the signed bytes alone, into the form of a transfer authorization.
 */
import { invalid, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip2612 from "../transfer/Eip2612.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import type * as PermitCall from "../transfer/PermitCall.ts"
import * as ExactEvm from "./ExactEvm.ts"

/** A signed transfer, and the approval of Permit2 that it brings. */
export interface SignedPermit extends PermitCall.PermittedTransfer {
  /** The name of the bit that the chain consumes (`ExactEvm.permitClaim`). */
  readonly claim: string
}

/** A transfer as the payload of a payment. */
export interface PermitReading {
  readonly signature: string
  readonly authorization: Eip3009.TransferWithAuthorization
  readonly binding?: NonNullable<ExactEvm.PermitPayload["binding"]>
  readonly permit: SignedPermit
}

/** Reads a transfer; fails with the rule that it breaks. */
export const read = Effect.fnUntraced(function* ({
  binding,
  eip2612GasSponsoring: approval,
  permit2Authorization: transfer,
  signature
}: ExactEvm.PermitPayload): Effect.fn.Return<PermitReading, ValidationError> {
  const { deadline, from, nonce, permitted, spender, witness } = transfer
  if (spender !== Permit2.proxy) {
    const expected = EvmAddress.checksum(Permit2.proxy)
    return yield* refused("spender", `lets ${EvmAddress.checksum(spender)} spend; expected ${expected}`)
  }
  if (permitted.amount === 0n) return yield* refused("amount", "is of zero, which its proxy refuses")
  if (approval !== undefined) yield* agreeing(transfer, approval)
  return {
    signature,
    authorization: {
      from,
      to: witness.to,
      value: permitted.amount,
      // EIP-3009 excludes both ends of the validity, and Permit2 includes them.
      validAfter: witness.validAfter === 0n ? 0n : witness.validAfter - 1n,
      validBefore: deadline + 1n,
      nonce: `0x${EvmHex.toWord(nonce)}`
    },
    ...(binding && { binding }),
    permit: { transfer, approval, claim: ExactEvm.permitClaim(from, nonce) }
  }
})

/** The proxy refuses an approval of another amount, and ignores one that the token refuses. */
const agreeing = (
  { deadline, from, permitted }: Permit2.PermitTransfer,
  approval: Eip2612.SignedApproval
): Effect.Effect<void, ValidationError> => {
  if (approval.from !== from) return refused("approval_owner", "brings the approval of another account")
  if (approval.asset !== permitted.token) return refused("approval_token", "brings an approval in another token")
  if (approval.spender !== Permit2.address)
    return refused("approval_spender", "brings an approval of another contract than Permit2")
  if (approval.amount !== permitted.amount) {
    return refused(
      "approval_amount",
      `brings an approval of ${approval.amount}; its proxy demands exactly ${permitted.amount}`
    )
  }
  if (approval.deadline < deadline)
    return refused("approval_deadline", "brings an approval that ends before the transfer does")
  return /^0x[0-9a-f]{130}$/.test(approval.signature)
    ? Effect.void
    : refused("approval_signature", "brings an approval whose signature is not of 65 bytes")
}

const refused = (rule: string, what: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `permit_${rule}`, `the transfer by Permit2 ${what}`))
