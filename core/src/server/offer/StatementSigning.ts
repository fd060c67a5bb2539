/** Signs a shop's statements, within two seconds. A statement that is not signed is left out; the operator's log says so. */
import * as Effect from "effect/Effect"

import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import type { ReceiptSigner, TypedStatement } from "../../wire/pontage/TypedStatement.ts"
import type { ChallengeSigner } from "./RouteOffer.ts"

/** The signer of a shop, if it has one, and its origin. */
export interface SigningShop {
  readonly receipts: ReceiptSigner | undefined
  readonly signer: Pick<ChallengeSigner, "hash" | "origin">
  readonly warn: RepeatedWarning
}

/** Time limit of a signature. */
const timeout = "2 seconds"

/** Maximum length of a statement's URL: statements are headers of a response, and clients limit those. */
export const maximumUrlLength = 2048

const signatureForm = /^0x[0-9a-f]{130}$/i

/** The URL of a target (path and query); `undefined` if it is too long for a statement. */
export const urlOf = ({ signer, warn }: SigningShop, target: string): Effect.Effect<string | undefined> => {
  const url = `${signer.origin}${target}`
  return url.length <= maximumUrlLength
    ? Effect.succeed(url)
    : Effect.as(warn("long receipt", `no receipt is signed for a URL of ${url.length} characters`), undefined)
}

/** Signs a statement; `undefined` without a signer, or if it fails. */
export const sign = (
  { receipts, warn }: Pick<SigningShop, "receipts" | "warn">,
  statement: TypedStatement
): Effect.Effect<string | undefined> =>
  receipts === undefined
    ? Effect.undefined
    : Effect.tryPromise(async () => {
        const signature: unknown = await receipts.signTypedData(statement)
        if (typeof signature !== "string" || !signatureForm.test(signature)) throw new Error("no signature of 65 bytes")
        return signature
      }).pipe(
        Effect.timeout(timeout),
        Effect.catch(() =>
          Effect.as(
            warn("receipt signer", "the receipt signer gave no signature; the response went without it"),
            undefined
          )
        )
      )
