/**
 * A signer with its key in memory, for a facilitator's transactions and a payer's authorizations. With native cryptography it
 * signs several times as fast as a general wallet library. A key kept elsewhere needs an `EvmTransactionSigner` or `EvmSigner`
 * of its own.
 */
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Redacted from "effect/Redacted"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as LocalKey from "../crypto/LocalKey.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip2612 from "../transfer/Eip2612.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as ChannelDeposit from "../voucher/ChannelDeposit.ts"
import * as ChannelRefund from "../voucher/ChannelRefund.ts"
import * as ClaimBatch from "../voucher/ClaimBatch.ts"
import * as Voucher from "../voucher/Voucher.ts"
import type { EvmSigner, TypedData } from "./EvmSigner.ts"
import type { EvmTransactionSigner } from "./EvmTransactionSigner.ts"

const wrong = (what: string, by = "localSigner") => new Misconfigured({ message: `exactEvm.${by}: ${what}` })

const check = OptionCheck.setting("a private key: 64 hexadecimal digits, with or without 0x")

/**
 * The key of a text, for the function of this name. Never passes on a library's error about a key: libraries quote their input.
 */
export const keyOf = (given: string | Redacted.Redacted, crypto: EvmCrypto.Shape, by?: string): LocalKey.LocalKey => {
  const text: unknown = Redacted.isRedacted(given) ? Redacted.value(given) : given
  const fault = check.fault(text)
  if (fault !== undefined || typeof text !== "string") throw wrong(fault?.problem ?? "expected a private key", by)
  const digits: string = text.startsWith("0x") ? text : `0x${text}`
  const key = EvmHex.isBytes32(digits) ? LocalKey.fromBytes(EvmHex.toBytes(digits), crypto) : undefined
  if (key === undefined)
    throw wrong("the private key is not 64 hexadecimal digits of a number in range, with or without 0x", by)
  return key
}

/**
 * Signs with a private key: 64 hexadecimal digits, optionally after `0x`, redacted or not. The key is kept redacted and appears in no
 * message. The same transaction or authorization gives the same bytes (RFC 6979). `crypto` defaults to JavaScript. The only
 * typed data it signs are those of payments (`EvmSigner.TypedData`). Throws `Misconfigured` for an invalid key; signing rejects with it for a
 * transaction that no chain accepts, and for other typed data.
 */
export const localSigner = (
  privateKey: string | Redacted.Redacted,
  crypto: EvmCrypto.Shape = EvmCrypto.javaScript
): EvmTransactionSigner & EvmSigner => {
  const key = keyOf(privateKey, crypto)
  const sign = (digest: Uint8Array): Uint8Array => {
    const signature = key.sign(digest)
    if (signature === undefined) throw wrong(`the cryptography by ${crypto.name} did not sign`)
    return signature
  }
  return {
    address: EvmAddress.checksum(key.address),
    signTransaction: async (transaction) => {
      const irregular = Eip1559.irregularity(transaction)
      if (irregular !== undefined) throw wrong(`the transaction's ${irregular} is out of range`)
      const fields = Eip1559.encodeFields(transaction)
      const digest = crypto.keccak256(EvmHex.toBytes(Eip1559.toSign(fields, transaction.type)))
      return Eip1559.signed(fields, sign(digest), transaction.type)
    },
    signTypedData: async (data) => LocalKey.signatureText(sign(digestOf(data, crypto)))
  }
}

/** The digest of a payment's typed data, as its own module makes it. */
const digestOf = (data: TypedData, { keccak256 }: EvmCrypto.Shape): Uint8Array => {
  if (isAuthorization(data)) return Eip3009.digest(data.domain, data.message, keccak256)
  const { chainId } = data.domain
  if (isVoucher(data)) return Voucher.digest(chainId, data.message, keccak256)
  if (isReceipt(data)) return Eip3009.receiveDigest(data.domain, data.message, keccak256)
  if (isPermitDeposit(data)) return ChannelDeposit.permitDigest(chainId, data.message, keccak256)
  if (isClaims(data)) return ClaimBatch.digest(chainId, data.message.claims, keccak256)
  if (isRefund(data)) return ChannelRefund.digest(chainId, data.message, keccak256)
  if (isTransfer(data)) return Permit2.digest(chainId, data.message, keccak256)
  if (!isApproval(data)) throw wrong(`typed data of ${data.primaryType} is not that of a payment`)
  const { owner: from, value: amount, ...terms } = data.message
  const asset = data.domain.verifyingContract
  return Eip2612.digest(data.domain, { ...terms, from, amount, asset }, keccak256)
}

const isAuthorization = (data: TypedData): data is Eip3009.TypedData => data.primaryType === "TransferWithAuthorization"
const isTransfer = (data: TypedData): data is Permit2.TypedData => data.primaryType === "PermitWitnessTransferFrom"
const isApproval = (data: TypedData): data is Eip2612.TypedData => data.primaryType === "Permit"
const isVoucher = (data: TypedData): data is Voucher.TypedData => data.primaryType === "Voucher"
const isReceipt = (data: TypedData): data is Eip3009.ReceiptTypedData => data.primaryType === "ReceiveWithAuthorization"
const isPermitDeposit = (data: TypedData): data is ChannelDeposit.PermitTypedData =>
  data.primaryType === "PermitWitnessTransferFrom" && "DepositWitness" in data.types
const isClaims = (data: TypedData): data is ClaimBatch.TypedData => data.primaryType === "ClaimBatch"
const isRefund = (data: TypedData): data is ChannelRefund.TypedData => data.primaryType === "Refund"
