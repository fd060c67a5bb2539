/**
 * The signed offers of a 402 (x402 extension `offer-receipt`). Its specification asks for an EVM network and recipient where the
 * signature is EIP-712, so other options are left unsigned; so are all of them where the signer fails.
 */
import * as Effect from "effect/Effect"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as SignedOffer from "../../wire/pontage/SignedOffer.ts"
import * as Challenge from "./Challenge.ts"
import * as StatementSigning from "./StatementSigning.ts"

/** Signs the offers for a target (path and query). They are good as long as the challenges of their epoch. */
export const sign = Effect.fnUntraced(function* (
  shop: StatementSigning.SigningShop,
  target: string,
  accepts: ReadonlyArray<PaymentRequirements>,
  epoch: number
): Effect.fn.Return<ReadonlyArray<SignedOffer.SignedOffer>> {
  const resourceUrl = yield* StatementSigning.urlOf(shop, target)
  if (resourceUrl === undefined) return []
  const validUntil = Challenge.endOf(epoch)
  const signed = accepts.map(
    Effect.fnUntraced(function* ({ asset = "", maxAmountRequired: amount, network, payTo, scheme }, acceptIndex) {
      if (!network.startsWith("eip155:")) return undefined
      const payload = { version: 1, resourceUrl, scheme, network, asset, payTo, amount, validUntil } as const
      const signature = yield* StatementSigning.sign(shop, SignedOffer.typed(payload))
      return signature === undefined ? undefined : { format: "eip712" as const, acceptIndex, payload, signature }
    })
  )
  // Together, so that a signer that hangs holds the 402 up for one time limit, and not for one for each option.
  const offers = yield* Effect.all(signed, { concurrency: "unbounded" })
  return offers.filter((offer) => offer !== undefined)
})
