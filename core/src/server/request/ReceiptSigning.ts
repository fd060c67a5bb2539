/**
 * The signed receipt of a paid response. The buyer has paid and gets the response in any case: a signer that fails or is slow
 * costs the receipt alone, and the operator's log says so.
 */
import * as Effect from "effect/Effect"

import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import type { ReceiptSigner, ReceiptStatement, SignedReceipt } from "../../wire/pontage/SignedReceipt.ts"

/** The signer of a shop, if it has one, and its origin. */
export interface SigningShop {
  readonly receipts: ReceiptSigner | undefined
  readonly signer: { readonly origin: string }
  readonly warn: RepeatedWarning
}

/** Time limit of a signature. */
const timeout = "2 seconds"

/** Maximum length of a receipt's URL: the receipt is a header of the response, and clients limit those. */
export const maximumUrlLength = 2048

const signatureForm = /^0x[0-9a-f]{130}$/i

/** Signs the receipt of a settlement for the request of this target (path and query), at this time (Unix milliseconds). */
export const sign = (
  { receipts, signer, warn }: SigningShop,
  target: string,
  { network, payer, transaction }: Settlement,
  now: number
): Effect.Effect<SignedReceipt | undefined> => {
  if (receipts === undefined) return Effect.undefined
  const resourceUrl = `${signer.origin}${target}`
  if (resourceUrl.length > maximumUrlLength) {
    return Effect.as(
      warn("long receipt", `no receipt is signed for a URL of ${resourceUrl.length} characters`),
      undefined
    )
  }
  const issuedAt = Math.floor(now / 1000)
  const payload: ReceiptStatement = { version: 1, network, resourceUrl, payer, issuedAt, transaction }
  return Effect.tryPromise(async () => {
    const signature: unknown = await receipts.signReceipt(payload)
    if (typeof signature !== "string" || !signatureForm.test(signature)) throw new Error("no signature of 65 bytes")
    return { format: "eip712", payload, signature } as const
  }).pipe(
    Effect.timeout(timeout),
    Effect.catch(() =>
      Effect.as(
        warn("receipt signer", "the receipt signer gave no signature; the response went without a receipt"),
        undefined
      )
    )
  )
}
