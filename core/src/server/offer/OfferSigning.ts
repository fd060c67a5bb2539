/**
 * The signed offers of a 402 (x402 extension `offer-receipt`). Its specification asks for an EVM network and recipient where the
 * signature is EIP-712, so other options are left unsigned; so are all of them where the signer fails.
 */
import * as Effect from "effect/Effect"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as SignedOffer from "../../wire/pontage/SignedOffer.ts"
import * as Challenge from "./Challenge.ts"
import * as StatementSigning from "./StatementSigning.ts"

/** The signed offers of a 402. */
export interface SignedOffers {
  readonly offers: ReadonlyArray<SignedOffer.SignedOffer>
  /** Whether the signer has failed for one of them. */
  readonly hasFailed: boolean
}

/** No offer is to be signed. */
export const none: SignedOffers = { offers: [], hasFailed: false }

/** Signs the offers for a target (path and query). They are good as long as the challenges of their epoch. */
export const sign = Effect.fnUntraced(function* (
  shop: StatementSigning.SigningShop,
  target: string,
  accepts: ReadonlyArray<PaymentRequirements>,
  epoch: number
): Effect.fn.Return<SignedOffers> {
  const resourceUrl = yield* StatementSigning.urlOf(shop, target)
  if (resourceUrl === undefined || shop.receipts === undefined) return none
  const validUntil = Challenge.endOf(epoch)
  const signed = accepts.flatMap(({ asset = "", maxAmountRequired: amount, network, payTo, scheme }, acceptIndex) => {
    if (!network.startsWith("eip155:")) return []
    return Effect.gen(function* () {
      const payload = { version: 1, resourceUrl, scheme, network, asset, payTo, amount, validUntil } as const
      const signature = yield* StatementSigning.sign(shop, SignedOffer.typed(payload))
      return signature === undefined ? undefined : { format: "eip712" as const, acceptIndex, payload, signature }
    })
  })
  // Together, so that a signer that hangs holds the 402 up for one time limit, and not for one for each option.
  const all = yield* Effect.all(signed, { concurrency: "unbounded" })
  const offers = all.filter((offer) => offer !== undefined)
  return { offers, hasFailed: offers.length < all.length }
})
