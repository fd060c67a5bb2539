/** Any statement that a shop has signed, and the typed data that its signature is over. */
import * as PurchaseReceipt from "./PurchaseReceipt.ts"
import * as SignedOffer from "./SignedOffer.ts"
import * as SignedReceipt from "./SignedReceipt.ts"
import type { TypedStatement } from "./TypedStatement.ts"

/** One of them. */
export type SignedStatement = PurchaseReceipt.PurchaseReceipt | SignedReceipt.SignedReceipt | SignedOffer.SignedOffer

/** Whether it is a receipt in Pontage's own format. */
export const isPurchase = (signed: SignedStatement): signed is PurchaseReceipt.PurchaseReceipt =>
  signed.format === PurchaseReceipt.format

/** Whether it is an offer. */
export const isOffer = (signed: SignedStatement): signed is SignedOffer.SignedOffer => "validUntil" in signed.payload

/** The typed data that the shop has signed. */
export const typedOf = (signed: SignedStatement): TypedStatement => {
  if (isPurchase(signed)) return PurchaseReceipt.typed(signed.payload)
  return isOffer(signed) ? SignedOffer.typed(signed.payload) : SignedReceipt.typed(signed.payload)
}
