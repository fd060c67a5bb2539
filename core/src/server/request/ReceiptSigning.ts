/**
 * The signed receipts of a paid response. The buyer has paid and gets the response in any case: a signer that fails or is slow
 * costs the receipt alone, and the operator's log says so.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { HashFunctions } from "../../platform/Hash.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import type { SignedReceipts } from "../../wire/pontage/Dialect.ts"
import * as PurchaseReceipt from "../../wire/pontage/PurchaseReceipt.ts"
import * as SignedReceipt from "../../wire/pontage/SignedReceipt.ts"
import type { SoldResponse } from "../http/Decision.ts"
import * as StatementSigning from "../offer/StatementSigning.ts"

/** A sale that a receipt is about. */
export interface Sale {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly payTo: string
  readonly asset: string
  readonly settlement: Settlement
}

/** The part of a response that its receipt names. */
type Covered = Pick<PurchaseReceipt.PurchaseStatement, "responseStatus" | "responseSha256">

/** A receipt that covers no response. */
const uncovered: Covered = { responseStatus: 0, responseSha256: "" }

const coveredBy = ({ sha256 }: HashFunctions, { body, encoding, status }: SoldResponse): Effect.Effect<Covered> =>
  encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity"
    ? Effect.succeed(uncovered)
    : Effect.map(sha256(body), (digest) => ({ responseStatus: status, responseSha256: hexOf(digest) }))

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** Signs the receipt of a sale in Pontage's own format, with the response if that is known. */
export const signPurchase = Effect.fnUntraced(function* (
  shop: StatementSigning.SigningShop,
  { asset, method, payTo, settlement, target }: Sale,
  response?: SoldResponse
): Effect.fn.Return<PurchaseReceipt.PurchaseReceipt | undefined> {
  const resourceUrl = yield* StatementSigning.urlOf(shop, target)
  if (resourceUrl === undefined) return undefined
  const { amount, network, payer, paymentId, transaction } = settlement
  const payload: PurchaseReceipt.PurchaseStatement = {
    version: 1,
    method,
    resourceUrl,
    payer,
    payTo,
    network,
    asset,
    amount,
    transaction,
    paymentId,
    issuedAt: yield* secondsNow,
    ...(response === undefined ? uncovered : yield* coveredBy(shop.signer.hash, response))
  }
  const signature = yield* StatementSigning.sign(shop, PurchaseReceipt.typed(payload))
  return signature === undefined ? undefined : { format: PurchaseReceipt.format, payload, signature }
})

/** Signs the brief receipt of a sale, as other protocols read it. */
const signBrief = Effect.fnUntraced(function* (
  shop: StatementSigning.SigningShop,
  { settlement: { network, payer, transaction }, target }: Sale
): Effect.fn.Return<SignedReceipt.SignedReceipt | undefined> {
  const resourceUrl = yield* StatementSigning.urlOf(shop, target)
  if (resourceUrl === undefined) return undefined
  const payload = { version: 1, network, resourceUrl, payer, issuedAt: yield* secondsNow, transaction } as const
  const signature = yield* StatementSigning.sign(shop, SignedReceipt.typed(payload))
  return signature === undefined ? undefined : { format: "eip712", payload, signature }
})

const secondsNow = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))

/** Signs the receipts of a sale before its response is known; none without a signer. */
export const sign = Effect.fnUntraced(function* (
  shop: StatementSigning.SigningShop,
  sale: Sale,
  withBrief: boolean
): Effect.fn.Return<SignedReceipts> {
  if (shop.receipts === undefined) return {}
  const purchase = yield* signPurchase(shop, sale)
  const brief = withBrief ? yield* signBrief(shop, sale) : undefined
  return { ...(purchase && { purchase }), ...(brief && { brief }) }
})
