/** Compares a signed receipt or offer with what its holder knows. */
import { createHash } from "node:crypto"

import { SignedStatement } from "@pontage/core"

/** Facts that the holder knows; an `undefined` one is not compared. */
export interface Expected {
  readonly signer: string | undefined
  readonly url: string | undefined
  readonly method: string | undefined
  readonly payer: string | undefined
  readonly transaction: string | undefined
  readonly payment: string | undefined
  readonly amount: string | undefined
  /** The bytes of the response's body. */
  readonly body: Uint8Array | undefined
}

const hex = /^(?:0x)?[0-9a-f]+$/i

/** Whether two texts are the same; the case of hexadecimal digits does not matter, that of other addresses does. */
const isSame = (one: string, other: string): boolean =>
  one === other || (hex.test(one) && hex.test(other) && one.toLowerCase() === other.toLowerCase())

const textIn = (payload: object, name: string): string | undefined => {
  const value: unknown = Object.hasOwn(payload, name) ? Reflect.get(payload, name) : undefined
  return typeof value === "string" ? value : undefined
}

/** The fault of one field; a statement that lacks a field which its holder expects does not prove it. */
const faultOf = (payload: object, name: string, expected: string | undefined, words: string): ReadonlyArray<string> => {
  if (expected === undefined) return []
  const value = textIn(payload, name)
  if (value === undefined) return [`it does not say the ${words}`]
  return isSame(value, expected) ? [] : [`for another ${words}`]
}

const bodyFaults = (signed: SignedStatement.SignedStatement, body: Uint8Array | undefined): ReadonlyArray<string> => {
  if (body === undefined) return []
  const digest = SignedStatement.isPurchase(signed) ? signed.payload.responseSha256 : ""
  if (digest === "") return ["it covers no response"]
  return digest === createHash("sha256").update(body).digest("hex") ? [] : ["for another response"]
}

/** All of them; `signer` is the account that signed, if the signature is one. */
export const of = (
  signed: SignedStatement.SignedStatement,
  signer: string | undefined,
  expected: Expected,
  now: number
): ReadonlyArray<string> => {
  const { payload } = signed
  const isLate =
    SignedStatement.isOffer(signed) && signed.payload.validUntil > 0 && signed.payload.validUntil * 1000 < now
  return [
    ...(signer === undefined ? ["the signature is none"] : []),
    ...(signer !== undefined && expected.signer !== undefined && signer !== expected.signer
      ? [`signed by ${signer}, not by ${expected.signer}`]
      : []),
    ...(expected.url !== undefined && expected.url !== payload.resourceUrl ? ["for another URL"] : []),
    ...faultOf(payload, "method", expected.method, "method"),
    ...faultOf(payload, "payer", expected.payer, "payer"),
    ...faultOf(payload, "transaction", expected.transaction, "transaction"),
    ...faultOf(payload, "paymentId", expected.payment, "payment"),
    ...faultOf(payload, "amount", expected.amount, "amount"),
    ...bodyFaults(signed, expected.body),
    ...(isLate ? ["the offer has ended"] : [])
  ]
}
