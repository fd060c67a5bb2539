/**
 * The payer's dialect of the Machine Payments Protocol: challenges from `WWW-Authenticate`, the payment in `Authorization` or
 * the header that the challenge names, the receipt from `Payment-Receipt`, refusals from problem details (RFC 9457).
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Shape from "../../protocol/Shape.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type {
  HeaderFields,
  SentHeaders,
  PayerDialect,
  ReadReceipt,
  ReadRefusal,
  ResponseHead
} from "../pontage/Dialect.ts"
import type { PurchaseReceipt } from "../pontage/PurchaseReceipt.ts"
import { purchaseReceipt } from "../pontage/PurchaseReceiptShape.ts"
import * as MppChallenge from "./MppChallenge.ts"
import * as MppCharge from "./MppCharge.ts"
import * as MppRefusal from "./MppRefusal.ts"
import * as MppText from "./MppText.ts"

/** Maximum length of a receipt in characters, more than any server sends: Node reads 16 KiB of headers in all. */
const maximumReceiptLength = 64 * 1024

const isProblem = ({ header }: ResponseHead): boolean =>
  /^application\/problem\+json\s*(?:;|$)/i.test(header("content-type") ?? "")

const challengesIn = ({ header, status }: ResponseHead): MppChallenge.Challenges | undefined => {
  const text = status === 402 ? header("www-authenticate") : null
  if (text === null || !MppChallenge.isLikely(text)) return undefined
  const challenges = MppChallenge.parse(text)
  return challenges.readable.length > 0 || challenges.fault !== undefined ? challenges : undefined
}

/** The headers that carry a credential, where a challenge wants it in this header. */
export type Carry = (header: string, credential: Schema.Json) => HeaderFields

const inHeader: Carry = (header, credential) => ({ [header]: `Payment ${MppText.encode(credential)}` })

/** A refusal with these charges, whose fields about the payment are in the body. */
export const refusalOf = (
  charges: ReadonlyArray<MppCharge.MppCharge>,
  body: unknown,
  carry: Carry = inHeader
): ReadRefusal => ({
  required: {
    error: MppRefusal.sentence(body) ?? "",
    accepts: charges.map(({ requirements }) => requirements),
    ...MppRefusal.words(body)
  },
  termsOf: (index) => charges[index]?.terms,
  paymentHeaders: (index, payload) => {
    const charge = charges[index]
    const credential = charge?.credential(payload)
    return charge === undefined || credential === undefined ? {} : carry(charge.terms.header, credential)
  }
})

const readRefusal = (head: ResponseHead, body: unknown): Result.Result<ReadRefusal, ValidationError> | undefined => {
  const challenges = challengesIn(head)
  if (challenges === undefined) {
    return isProblem(head) && MppRefusal.isOf(body) ? Result.succeed(refusalOf([], body)) : undefined
  }
  const { fault, readable } = challenges
  if (readable.length === 0) {
    return Result.fail(invalid("malformed", "payment_required", `the server's challenge cannot be read: ${fault}`))
  }
  const charges = readable.map((challenge) => MppCharge.fromChallenge(challenge)).filter((one) => one !== undefined)
  return Result.succeed(refusalOf(charges, body))
}

const receiptShape = /* @__PURE__ */ Shape.struct<{
  readonly method: "evm"
  readonly status: "success"
  readonly reference: string
  readonly challengeId?: string
  readonly chainId?: number
  readonly signedReceipt?: PurchaseReceipt
}>({
  method: /* @__PURE__ */ Shape.oneOf(["evm"]),
  status: /* @__PURE__ */ Shape.oneOf(["success"]),
  reference: Shape.text,
  challengeId: /* @__PURE__ */ Shape.optional(Shape.text),
  chainId: /* @__PURE__ */ Shape.optional(Shape.int),
  signedReceipt: purchaseReceipt
})

/** The credential in a request's payment headers. */
const credentialIn = ({ headers }: SentHeaders): unknown => {
  const texts = Object.values(headers).map((text) => MppText.tokenIn(text))
  return MppText.decode(texts.find((text) => text !== undefined) ?? "")
}

/** The id of the challenge that a credential pays. */
const paidId = (credential: unknown): unknown => {
  const challenge = Shape.isObject(credential) ? credential["challenge"] : undefined
  return Shape.isObject(challenge) ? challenge["id"] : undefined
}

/**
 * Reads a receipt from its JSON. Some servers name no network, and then it is the one that was paid on; a receipt of another
 * challenge than the credential's is none.
 */
export const receiptFromJson = (
  json: unknown,
  paid: SentHeaders | undefined,
  credential: unknown
): ReadReceipt | undefined => {
  const receipt = receiptShape.read(json)
  if (receipt instanceof Shape.Fault || receipt.reference === "") return undefined
  const { chainId, challengeId, reference, signedReceipt: signed } = receipt
  if (paid !== undefined && challengeId !== undefined && challengeId !== paidId(credential)) return undefined
  const network = chainId === undefined ? paid?.network : `eip155:${chainId}`
  if (network === undefined) return undefined
  return { success: true, transaction: reference, network, ...(signed && { signed }) }
}

/** The dialect. */
export const mppPayer: PayerDialect = {
  paymentHeader: "Authorization",
  otherHeader: "Payment-Authorization",
  recognises: MppText.isPayment,
  isKnownByHead: false,
  mayRefuse: (head) => head.status >= 400 && (challengesIn(head) !== undefined || isProblem(head)),
  readRefusal,
  readReceipt: (header, paid) => {
    const text = header("payment-receipt")
    if (text === null || text.length > maximumReceiptLength) return undefined
    return receiptFromJson(MppText.decode(text.trim()), paid, paid && credentialIn(paid))
  }
}
