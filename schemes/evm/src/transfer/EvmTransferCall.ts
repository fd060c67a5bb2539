/**
 * The call that moves a payment's money, made after all checks of its signature that need no chain. Only a signature that is
 * not by the payer's own key costs a request: an account with code may have other signatures (ERC-1271), which the token
 * validates.
 */
import { type ChainUnavailable, invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as EvmSignature from "../crypto/EvmSignature.ts"
import type * as Eip7702 from "../primitives/Eip7702.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as CounterfactualTransfer from "./CounterfactualTransfer.ts"
import * as Eip3009 from "./Eip3009.ts"
import type * as EvmAccountCode from "./EvmAccountCode.ts"
import type * as PackedOperations from "./PackedOperations.ts"
import * as PackedTransfers from "./PackedTransfers.ts"

/** The call that moves the money, and its gas limit. */
export interface TransferCall {
  readonly to: EvmAddress.Address
  readonly data: EvmHex.Hex
  readonly gas: bigint
  /** Coin that the transaction brings, in wei: the price of a bridge's message. */
  readonly value?: bigint
  readonly payer: EvmAddress.Address
  /** Whether the payer's own key has signed. Its account may have code all the same: then the token calls that code. */
  readonly isByKey: boolean
  /** The same transfer in a form that can be batched: of a plain account, with numbers of usual size. */
  readonly plain: PackedTransfers.PlainTransfer | undefined
  /** The user operation that it submits, where its EntryPoint takes several in one transaction. */
  readonly operation?: PackedOperations.BatchedOperation
  /** The transfer by Permit2 of a plain account, without an approval, in a form that can be batched: its end is inclusive. */
  readonly permit?: PackedTransfers.PlainTransfer
  /** The authorization by which the payer's account delegates to code in the same transaction (EIP-7702). */
  readonly authorizationList?: ReadonlyArray<Eip7702.Authorization>
  /** The payer's account, where the call deploys it. */
  readonly deployment?: CounterfactualTransfer.Deployment
  /** Contracts that the call runs by our own choice, beside `to`. */
  readonly ours?: ReadonlyArray<EvmAddress.Address>
}

/**
 * Gas for the transfer of a plain account: about 86 000 on the deployed dollar tokens, 17 000 more for a new recipient.
 */
export const plainGas = 150_000n

/** Gas for the transfer of a contract account, whose code validates the signature. */
export const contractGas = 400_000n

/** The services that {@link make} needs: signature recovery, the code of accounts, and the deployment of those without any. */
export interface Context {
  readonly crypto: EvmCrypto.Shape
  readonly accounts: EvmAccountCode.AccountCode
  readonly counterfactual?: CounterfactualTransfer.CounterfactualSettling | undefined
}

/** A signature that is possible for some account; else the refusal. */
export const signatureOf = (
  text: string
): Result.Result<Exclude<EvmSignature.EvmSignature, EvmSignature.Malformed>, ValidationError> => {
  const signature = EvmSignature.fromText(text)
  if (signature._tag !== "Malformed") return Result.succeed(signature)
  return Result.fail(invalid("malformed", `signature_${signature.reason}`, malformed[signature.reason]))
}

const malformed: Readonly<Record<EvmSignature.Malformed["reason"], string>> = {
  not_hexadecimal: "the signature is not hexadecimal",
  too_long: `the signature is longer than ${EvmSignature.maximumBytes} bytes`,
  erc6492: "the signature ends as one of ERC-6492 and does not have its three parts in their canonical encoding"
}

/**
 * The call that settles an authorization. A plain account's signature recovers to the payer; any other signature needs code
 * at the payer's address.
 */
export const make = Effect.fnUntraced(function* (
  context: Context,
  domain: Eip3009.Domain,
  authorization: Eip3009.TransferWithAuthorization,
  signatureText: string
): Effect.fn.Return<TransferCall, PaymentError | ValidationError | ChainUnavailable> {
  const signature = yield* Effect.fromResult(signatureOf(signatureText))
  if (signature._tag === "Erc6492") return yield* ofWrapped(context, domain.verifyingContract, authorization, signature)
  const isOwn = yield* isByKey(context, authorization.from, signature, (keccak256) =>
    Eip3009.digest(domain, authorization, keccak256)
  )
  return (isOwn ? ofPlainAccount : ofDeployed)(domain.verifyingContract, authorization, signature.hex)
})

/** Whether the payer's own key has signed; `false` where code at the payer's address has to decide, and a failure without any. */
export const isByKey = Effect.fnUntraced(function* (
  { accounts, crypto }: Context,
  payer: EvmAddress.Address,
  signature: EvmSignature.Ecdsa | EvmSignature.ContractOnly,
  digestBy: (keccak256: EvmCrypto.Keccak256) => Uint8Array
): Effect.fn.Return<boolean, PaymentError | ChainUnavailable> {
  let flaw: Flaw
  if (signature._tag === "Ecdsa") {
    const signer = EvmSignature.recoverAddress(digestBy(crypto.keccak256), signature, crypto)
    if (signer === payer) return true
    flaw = { detail: "payer_mismatch", what: signer === undefined ? "valid for no key" : `signed by ${signer}` }
  } else {
    flaw = { detail: signature.irregularity, what: explain[signature.irregularity] }
  }
  return (yield* accounts.codeOf(payer)) === "0x" ? yield* notThePayers(payer, flaw) : false
})

const ofDeployed = (
  token: EvmAddress.Address,
  authorization: Eip3009.TransferWithAuthorization,
  signature: EvmHex.Hex
): TransferCall => ({
  to: token,
  data: Eip3009.encodeTransferByBytes(authorization, signature),
  gas: contractGas,
  payer: authorization.from,
  isByKey: false,
  plain: undefined
})

/** The call of an account that is deployed by now, or that the settler deploys by a known factory. */
const ofWrapped = Effect.fnUntraced(function* (
  { accounts, counterfactual }: Context,
  token: EvmAddress.Address,
  authorization: Eip3009.TransferWithAuthorization,
  { factory, factoryData, signature }: EvmSignature.Counterfactual
): Effect.fn.Return<TransferCall, ValidationError | ChainUnavailable> {
  if (counterfactual === undefined) return yield* notDeployed
  if (!counterfactual.factories.has(factory)) return yield* unknownFactory(factory)
  const call = ofDeployed(token, authorization, signature)
  if ((yield* accounts.codeOf(authorization.from)) !== "0x") return call
  accounts.forget(authorization.from)
  const deployment = { settler: counterfactual.settler, payer: authorization.from, factory, factoryData }
  const settling = CounterfactualTransfer.settle(deployment, token, call.data)
  return { ...call, ...settling, deployment }
})

/**
 * The call of a payer whose key has signed and whose account has code: that code validates the signature, and the call is
 * never batched.
 */
export const ofCode = (call: TransferCall): TransferCall =>
  call.isByKey
    ? {
        to: call.to,
        data: call.data,
        gas: call.gas + contractGas - plainGas,
        payer: call.payer,
        isByKey: true,
        plain: undefined,
        ...(call.ours && { ours: call.ours })
      }
    : call

const ofPlainAccount = (
  token: EvmAddress.Address,
  authorization: Eip3009.TransferWithAuthorization,
  signature: EvmHex.Hex
): TransferCall => ({
  to: token,
  // Computed on demand: most transfers are batched in the other form and never need it.
  get data() {
    return Eip3009.encodeTransferByParts(authorization, signature)
  },
  gas: plainGas,
  payer: authorization.from,
  isByKey: true,
  plain: PackedTransfers.fits(authorization) ? { token, authorization, signature } : undefined
})

const notDeployed = invalid(
  "unsupported_authorization",
  "erc6492",
  "the payer is a contract account that is not deployed yet (ERC-6492), and such accounts are not deployed here. Deploy the account, then sign again"
)

const unknownFactory = (factory: EvmAddress.Address) =>
  invalid(
    "unsupported_authorization",
    "factory_unknown",
    `the payer's account would be deployed by the factory ${EvmAddress.checksum(factory)}, which is not known here; deploy the account, then sign again`
  )

/** The reason why a signature cannot be that of a plain account. */
interface Flaw {
  readonly detail: string
  readonly what: string
}

const explain: Readonly<Record<EvmSignature.Irregularity, string>> = {
  compact: "of 64 bytes (EIP-2098), where the token takes 65",
  recovery_id: "of a recovery id other than 27 and 28",
  high_s: "the malleated twin of a signature (its s is in the upper half)",
  length: "not of 65 bytes"
}

const notThePayers = (payer: EvmAddress.Address, { detail, what }: Flaw) =>
  refuse(
    "INVALID_SIGNATURE",
    detail,
    `the signature is ${what}; expected one by the payer ${EvmAddress.checksum(payer)}`
  )
