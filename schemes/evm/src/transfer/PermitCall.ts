/**
 * The call of x402's proxy that submits a transfer by Permit2, made after all checks of its signatures that need no chain.
 */
import { type ChainUnavailable, invalid, type PaymentError, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import { PermitSettler } from "../artifacts/PermitSettler.ts"
import * as EvmSignature from "../crypto/EvmSignature.ts"
import * as Create2 from "../primitives/Create2.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip2612 from "./Eip2612.ts"
import type * as Eip3009 from "./Eip3009.ts"
import * as EvmTransferCall from "./EvmTransferCall.ts"
import * as PackedTransfers from "./PackedTransfers.ts"
import * as Permit2 from "./Permit2.ts"

/** A transfer, and the approval of Permit2 that it brings. */
export interface PermittedTransfer {
  readonly transfer: Permit2.PermitTransfer
  readonly approval: Eip2612.SignedApproval | undefined
}

/** Gas for Permit2 and its proxy beside the token's own work, and for an approval. */
const permitGas = 60_000n
const approvalGas = 80_000n

/** The contract `PermitSettler`, whose events name the transfers of a batch: its address is the same on every chain. */
export const settler = /* @__PURE__ */ Create2.addressOf(PermitSettler.bytecode)

/** First topic of `Submitted(address indexed owner, uint256 indexed nonce)` of the settler. */
export const submittedTopic = "0x1439dff93e9e1f47823f730d1ac6d0e67fd98a81c2dc5e02d6b0f7d9af4edc8a"

/** Our choice of contracts, beside the token and the payer's account. */
const ours = [Permit2.address, Permit2.proxy]

/**
 * Makes the call. The domain is that of the token's approvals by signature; its name is empty where it has none. `submitsApproval`
 * tells whether the call submits the approval that the transfer brings.
 */
export const make = Effect.fnUntraced(function* (
  context: EvmTransferCall.Context,
  domain: Eip3009.Domain,
  { approval: brought, transfer }: PermittedTransfer,
  signatureText: string,
  submitsApproval: Effect.Effect<boolean, ChainUnavailable>
): Effect.fn.Return<EvmTransferCall.TransferCall, PaymentError | ValidationError | ChainUnavailable> {
  const signature = yield* Effect.fromResult(EvmTransferCall.signatureOf(signatureText))
  const payer = transfer.from
  if (brought !== undefined) yield* proveApproval(context, domain, brought)
  if (signature._tag === "Erc6492" && (yield* context.accounts.codeOf(payer)) === "0x") return yield* notDeployed
  const isByKey =
    signature._tag !== "Erc6492" &&
    (yield* EvmTransferCall.isByKey(context, payer, signature, (keccak256) =>
      Permit2.digest(domain.chainId, transfer, keccak256)
    ))
  const approval = (yield* submitsApproval) ? brought : undefined
  const { contractGas, plainGas } = EvmTransferCall
  return {
    to: Permit2.proxy,
    data: Permit2.encodeSettle(transfer, signature._tag === "Erc6492" ? signature.signature : signature.hex, approval),
    gas: (isByKey ? plainGas : contractGas) + permitGas + (approval === undefined ? 0n : approvalGas),
    payer,
    isByKey,
    plain: undefined,
    ours,
    ...(isByKey && approval === undefined && signature._tag === "Ecdsa" && batchedOf(transfer, signature.hex))
  }
})

/** The transfer in a form that can be batched, where its numbers are of usual size. */
const batchedOf = (
  { deadline, from, nonce, permitted, witness }: Permit2.PermitTransfer,
  signature: EvmHex.Hex
): Pick<EvmTransferCall.TransferCall, "permit"> => {
  const authorization = {
    from,
    to: witness.to,
    value: permitted.amount,
    validAfter: witness.validAfter,
    validBefore: deadline,
    nonce: EvmHex.fromTrusted(`0x${EvmHex.toWord(nonce)}`)
  }
  return PackedTransfers.fits(authorization) ? { permit: { token: permitted.token, authorization, signature } } : {}
}

/** The token would ignore an approval that its owner has not signed, and the transfer would fail at the facilitator's cost. */
const proveApproval = Effect.fnUntraced(function* (
  { crypto }: EvmTransferCall.Context,
  domain: Eip3009.Domain,
  approval: Eip2612.SignedApproval
): Effect.fn.Return<void, ValidationError> {
  if (domain.name === "") return yield* refused("domain", "is in a token whose EIP-712 domain is not configured here")
  const signature = EvmSignature.fromText(approval.signature)
  const digest = Eip2612.digest(domain, approval, crypto.keccak256)
  const signer = signature._tag === "Ecdsa" ? EvmSignature.recoverAddress(digest, signature, crypto) : undefined
  if (signer === approval.from) return
  return yield* refused("signature", `is not signed by the payer ${EvmAddress.checksum(approval.from)}`)
})

const refused = (rule: string, what: string) =>
  invalid(
    "unsupported_authorization",
    `permit_approval_${rule}`,
    `the approval of Permit2 by signature (EIP-2612) ${what}`
  )

const notDeployed = invalid(
  "unsupported_authorization",
  "erc6492",
  "the payer is a contract account that is not deployed yet (ERC-6492), so it has not approved Permit2. Deploy the account and approve Permit2, then sign again"
)
