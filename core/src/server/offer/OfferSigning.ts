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
  const offers: Array<SignedOffer.SignedOffer> = []
  for (const [acceptIndex, { asset = "", maxAmountRequired: amount, network, payTo, scheme }] of accepts.entries()) {
    if (!network.startsWith("eip155:")) continue
    const payload = { version: 1, resourceUrl, scheme, network, asset, payTo, amount, validUntil } as const
    const signature = yield* StatementSigning.sign(shop, SignedOffer.typed(payload))
    if (signature !== undefined) offers.push({ format: "eip712", acceptIndex, payload, signature })
  }
  return offers
})
