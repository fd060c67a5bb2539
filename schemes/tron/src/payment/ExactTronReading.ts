/** Reads payments of `exact` on TRON: the authorization, in the form that all schemes share, from the signed bytes alone. */
import { type Asset, invalid, type Payment, type PaymentRequirements, refuse } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as TronSignature from "../crypto/TronSignature.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import * as ExactTron from "./ExactTron.ts"

/** A payment as the scheme facilitator keeps it: the transfer, its signed bytes, and the token. */
export interface SignedTransfer {
  readonly token: Asset
  readonly transfer: TronTransaction.TokenTransfer
  readonly id: string
  readonly rawHex: string
  readonly signature: string
}

/** Finds the token of an offer by its text. */
export type TokenOf = (network: string, text: string) => Asset | undefined

/**
 * Reads a payment. Only the offer's own token is read; a binding is proven. The single-use key is the transaction's id, which the
 * chain includes once.
 */
export const read = Effect.fnUntraced(function* (
  network: string,
  tokenOf: TokenOf,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const { binding, from, signedTransaction } = yield* ExactTron.decodePayload(json)
  const signature = TronSignature.fromText(signedTransaction.signature[0] ?? "")
  if (signature === undefined) {
    return yield* invalid("malformed", "signature_form", "the signature is not 65 bytes that end with 0, 1, 27 or 28")
  }
  const rawHex = signedTransaction.raw_data_hex
  const raw = TronHex.toBytes(rawHex)
  const id = TronTransaction.id(raw)
  if (signedTransaction.txID !== id) {
    return yield* invalid("malformed", "txid", `the id of the raw data is ${id}, not ${signedTransaction.txID}`)
  }
  const decoded = TronTransaction.decodeTransfer(raw)
  if (Result.isFailure(decoded)) {
    return yield* invalid("unsupported_authorization", decoded.failure.detail, decoded.failure.message)
  }
  const transfer = decoded.success
  const token = requirements.asset === undefined ? undefined : tokenOf(network, requirements.asset)
  if (token === undefined) {
    const message = `payments in ${requirements.asset ?? "an unnamed asset"} on ${network} are not settled here`
    return yield* invalid("asset_mismatch", "asset_not_settled", message)
  }
  const payer = TronAddress.toBase58(transfer.owner)
  if (payer !== from) {
    const message = `the payload names the payer ${from}, the transaction ${payer}`
    return yield* refuse("INVALID_SIGNATURE", "payer_mismatch", message)
  }
  if (transfer.to === transfer.owner) {
    return yield* refuse("INVALID_RECIPIENT", "self_payment", "the payment goes to the payer's own account")
  }
  if (binding !== undefined && transfer.timestamp !== (yield* ExactTron.boundTimestamp(binding))) {
    const message = "the transaction's timestamp differs from the one derived from its challenge and salt"
    return yield* invalid("binding_mismatch", "timestamp_not_bound", message)
  }
  const payment: Payment<SignedTransfer> = {
    requirements,
    payload: { token, transfer, id, rawHex, signature },
    authorization: {
      payer,
      payTo: TronAddress.toBase58(transfer.to),
      asset: TronAddress.toBase58(transfer.token),
      amount: transfer.amount,
      nonce: id,
      validAfter: 0,
      validBefore: seconds(transfer.expiration),
      binding
    }
  }
  return payment
})

/** Seconds; a time too large for an exact number becomes the largest one. */
const seconds = (millis: bigint): number => {
  const whole = millis / 1000n
  return whole > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(whole)
}
