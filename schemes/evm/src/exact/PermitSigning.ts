/**
 * Signing of payments by Permit2: the transfer, with x402's proxy as its spender, and the approval of Permit2 by signature where
 * the payer has not approved it in the token before and the token has such approvals (EIP-2612).
 */
import { type Asset, SigningFailed, type SignedPayment, type SigningRequest } from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as Effect from "effect/Effect"

import * as ExactEvm from "../payment/ExactEvm.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as Eip2612 from "../transfer/Eip2612.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import type { AllowanceReader } from "../wallet/AllowanceReader.ts"
import * as EvmSigner from "../wallet/EvmSigner.ts"

/** Signs the transfer that pays what the core has decided on. Without a reader the payer is taken to have approved Permit2. */
export const sign = Effect.fnUntraced(function* (
  signer: EvmSigner.EvmSigner,
  reader: AllowanceReader | undefined,
  from: EvmAddress.Address,
  to: EvmAddress.Address,
  request: SigningRequest
): Effect.fn.Return<SignedPayment, SigningFailed> {
  const { asset, binding, requirements, validAfter, validBefore } = request
  const { bytes } = yield* Entropy
  const nonce = BigInt(yield* binding ? ExactEvm.boundNonce(binding) : Effect.succeed(ExactEvm.nonceFrom(bytes(24))))
  const transfer: Permit2.PermitTransfer = {
    from,
    permitted: { token: EvmAsset.domain(asset).verifyingContract, amount: BigInt(requirements.maxAmountRequired) },
    spender: Permit2.proxy,
    nonce,
    // Permit2 includes both ends of the validity.
    deadline: BigInt(validBefore) - 1n,
    witness: { to, validAfter: validAfter === 0 ? 0n : BigInt(validAfter) + 1n }
  }
  const approval = reader === undefined ? undefined : yield* approvalFor(signer, reader, transfer, request)
  const typed = Permit2.typedData(EvmNetwork.chainId(asset.network), transfer)
  const signature = yield* EvmSigner.signatureOf(signer, typed)
  return {
    payer: EvmAddress.checksum(from),
    nonce: ExactEvm.permitClaim(from, nonce),
    payload: {
      signature,
      permit2Authorization: onWire(transfer),
      ...(approval && { eip2612GasSponsoring: approval }),
      ...(binding && { binding: { ...binding } })
    }
  }
})

/** The approval that the transfer needs; `undefined` where the payer has approved Permit2 before. */
const approvalFor = Effect.fnUntraced(function* (
  signer: EvmSigner.EvmSigner,
  reader: AllowanceReader,
  { deadline, from, permitted: { amount, token } }: Permit2.PermitTransfer,
  { asset, requirements: { extra = {} } }: SigningRequest
) {
  if ((yield* reader.allowance(token, from)) >= amount) return undefined
  const isSponsored = extra["permit2"] !== undefined || extra["eip2612GasSponsoring"] === true
  if (!EvmAsset.hasDomain(asset) || !isSponsored) return yield* unapproved(asset, from)
  const nonce = yield* reader.approvals(token, from)
  const terms = { from, asset: token, spender: Permit2.address, amount, nonce, deadline }
  const typed = Eip2612.typedData(EvmAsset.domain(asset), terms)
  const signature = yield* EvmSigner.signatureOf(signer, typed)
  return {
    from: EvmAddress.checksum(from),
    asset: EvmAddress.checksum(token),
    spender: EvmAddress.checksum(Permit2.address),
    amount: `${amount}`,
    nonce: `${nonce}`,
    deadline: `${deadline}`,
    signature,
    version: "1"
  }
})

const unapproved = ({ address, symbol }: Asset, payer: EvmAddress.Address) =>
  new SigningFailed({
    message: `the token ${symbol} needs an approval of Permit2 first: send approve(${EvmAddress.checksum(Permit2.address)}, amount) to ${address} from ${EvmAddress.checksum(payer)}, once`
  })

const onWire = ({ deadline, from, nonce, permitted, spender, witness }: Permit2.PermitTransfer) => ({
  from: EvmAddress.checksum(from),
  permitted: { token: EvmAddress.checksum(permitted.token), amount: `${permitted.amount}` },
  spender: EvmAddress.checksum(spender),
  nonce: `${nonce}`,
  deadline: `${deadline}`,
  witness: { to: EvmAddress.checksum(witness.to), validAfter: `${witness.validAfter}` }
})
