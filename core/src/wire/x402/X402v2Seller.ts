/**
 * The seller's dialect of x402 version 2: the offers in `PAYMENT-REQUIRED`, the payment in `PAYMENT-SIGNATURE`, the
 * receipt in `PAYMENT-RESPONSE`, each base64 of JSON (x402 specification version 2, HTTP transport). The body of a
 * refusal is free there; it carries our own fields without the offers.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { sealPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import * as Base64Text from "../../protocol/text/Base64Text.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { maximumBase64Bytes } from "../http/AsciiJson.ts"
import * as Base64Json from "../http/Base64Json.ts"
import type {
  OfferTerms,
  PresentedPayment,
  RefusalMessage,
  SellerDialect,
  SettleOrder,
  SignedReceipts
} from "../pontage/Dialect.ts"
import * as X402Bazaar from "./X402Bazaar.ts"
import * as X402Identifier from "./X402Identifier.ts"
import * as X402Network from "./X402Network.ts"
import * as X402Offer from "./X402Offer.ts"
import * as X402Reason from "./X402Reason.ts"
import * as X402SignedStatements from "./X402SignedStatements.ts"
import * as X402Sponsoring from "./X402Sponsoring.ts"

/**
 * A payment of version 2. `payload` is the scheme's own JSON. Extensions that were not offered are ignored, as the
 * specification demands.
 */
export const PaymentV2 = Schema.Struct({
  x402Version: Schema.Literal(2),
  accepted: X402Offer.OfferV2,
  payload: Schema.Record(Schema.String, Schema.Json),
  extensions: Schema.optionalKey(Schema.Unknown)
})

const decodePayment = Schema.decodeUnknownResult(PaymentV2)
const readVersion = Schema.decodeUnknownResult(Schema.Struct({ x402Version: Schema.Json }))

/** Reads a payment of version 2 from its JSON. Fails with `malformed` or `unsupported_version`. */
export const fromJson = (json: unknown): Result.Result<PresentedPayment, ValidationError> => {
  const version = readVersion(json)
  if (Result.isSuccess(version) && version.success.x402Version !== 2) {
    const said = JSON.stringify(version.success.x402Version)
    return Result.fail(invalid("unsupported_version", "x402_version", `x402Version ${said} is not 2`))
  }
  return Result.mapBoth(decodePayment(json), {
    onSuccess: ({ accepted: repeated, extensions, payload }) => {
      const identifier = X402Identifier.of(extensions)
      const accepted = X402Offer.accepted(repeated)
      return {
        payment: sealPayload(accepted.scheme, accepted.network, X402Sponsoring.intoPayload(payload, extensions)),
        accepted,
        ...(identifier !== undefined && { identifier })
      }
    },
    onFailure: ({ message }) =>
      invalid("malformed", "payment_fields", `the payment is not one of x402 version 2: ${message}`)
  })
}

/**
 * The payment flow of an offer. Peers' payers assume that they are charged after the handler, and not if it fails,
 * unless an offer says this.
 */
const flowOf = (order: SettleOrder | undefined) => (order === "before-handler" ? { paymentFlow: "upfront" } : {})

/** Maximum length of a description in an offer, in characters of three bytes at most. */
const maximumDescriptionLength = 340

/** Maximum length of a URL in an offer. */
const maximumUrlLength = 2048

/** The same beside extensions, which payers repeat too. */
const descriptionLengthBeside = (extensions: Extensions): number =>
  Math.max(0, maximumDescriptionLength - Math.ceil(JSON.stringify(extensions).length / 3) - 40)

/** The same beside a described call, which is longer. */
const maximumDescriptionLengthDescribed = 40

/** Maximum length of a URL in an offer beside a described call. */
const maximumUrlLengthDescribed = 640

type Extensions = Schema.JsonObject

/** The extensions of a payment request; `undefined` for none. */
const extensionsOf = (
  { accepts }: PaymentRequired,
  { call, repeats = false, signed }: OfferTerms
): Extensions | undefined => {
  const extensions = {
    ...(repeats && X402Identifier.offered),
    ...(accepts.some(X402Sponsoring.isOffered) && X402Sponsoring.offered),
    ...(call && X402Bazaar.of(call)),
    ...X402SignedStatements.offered(X402SignedStatements.shownOf(accepts, signed))
  }
  return Object.keys(extensions).length === 0 ? undefined : extensions
}

/** The resource of an offer. A payer repeats it in a header, outside the signature; it is not compared. */
const placeOf = (requirements: PaymentRequirements, extensions: Extensions = {}): X402Offer.ResourceV2 => {
  const { description, url, ...place } = X402Offer.resourceOf(requirements)
  const isDescribed = Object.hasOwn(extensions, "bazaar")
  const most = isDescribed ? maximumUrlLengthDescribed : maximumUrlLength
  const isExtended = Object.keys(extensions).length > 0
  const words = isExtended ? descriptionLengthBeside(extensions) : maximumDescriptionLength
  return {
    url: url.length > most ? shortened(url, most) : url,
    description: description?.slice(0, isDescribed ? maximumDescriptionLengthDescribed : words) ?? "",
    ...place
  }
}

/** The URL without its query, and if that is not enough without the last part of its path. */
const shortened = (url: string, most: number): string => {
  const [path = ""] = url.split("?", 1)
  return path.length > most ? path.slice(0, path.lastIndexOf("/", most - 1) + 1) : path
}

/**
 * The payment request of version 2, for a header or a result; `undefined` without offers. Offers of a resource that is
 * charged before its handler runs name that payment flow (section "Payment flows"), where the scheme is `exact`: others have one flow. Each offer carries the token, which
 * payers repeat in `accepted.extra`. A resource whose responses come again offers the payment identifier, one that
 * is paid by Permit2 its approval by signature, and a described call the extension `bazaar`.
 */
export const requestOf = (
  required: PaymentRequired,
  order: SettleOrder | undefined,
  retryToken: string,
  terms: OfferTerms = {}
) => {
  const first = required.accepts.find(X402Offer.isPayable)
  const extensions = extensionsOf(required, terms)
  return first === undefined
    ? undefined
    : {
        x402Version: 2,
        error: X402Reason.ofRefusal(2, required),
        resource: placeOf(first, extensions),
        accepts: required.accepts.flatMap((requirements) => {
          if (!X402Offer.isPayable(requirements)) return []
          const offer = X402Offer.toV2(requirements)
          const flow = requirements.scheme === "exact" ? flowOf(order) : {}
          return [{ ...offer, extra: { ...offer.extra, ...flow, [RetryToken.key]: retryToken } }]
        }),
        ...(extensions && { extensions })
      }
}

/**
 * The receipt of version 2. The payment's remaining use is added for Pontage's payers; signed receipts are extensions.
 */
export const receiptOf = (
  { amount, extra, ifRefused, network, payer, transaction }: Settlement,
  receipts?: SignedReceipts
) => ({
  success: true,
  payer,
  transaction,
  network: X402Network.toV2(network),
  amount,
  ...(extra && { extra }),
  ...(ifRefused && { ifRefused }),
  ...X402SignedStatements.inReceipt(receipts)
})

/** Marks the place of the token in the text of the offers; it has the token's length. */
const tokenPlace = "retry-token-goes-here_"

/**
 * The personal part of a refusal. The offers are written once, and the header for each payer: most requests of a shop
 * get this response.
 */
const personalOffers = (
  required: PaymentRequired,
  order?: SettleOrder,
  terms?: OfferTerms
): Pick<RefusalMessage, "personal"> => {
  const request = requestOf(required, order, tokenPlace, terms)
  if (request === undefined) return {}
  const encoded = Base64Text.filling(JSON.stringify(request), tokenPlace)
  return { personal: (retryToken) => ({ headers: { "PAYMENT-REQUIRED": encoded(retryToken) } }) }
}

/** The dialect. */
export const x402v2Seller: SellerDialect = {
  name: "x402 version 2",
  paymentHeader: "PAYMENT-SIGNATURE",
  exposed: ["PAYMENT-REQUIRED", "PAYMENT-RESPONSE"],
  offersInBody: false,
  canOffer: (_scheme, _network, extra = {}) => X402Offer.isPayable({ extra }),
  listing: () => ({ protocol: { x402: {} } }),
  recognises: () => true,
  readPayment: (text) => Result.flatMap(Base64Json.decode("PAYMENT-SIGNATURE", text, maximumBase64Bytes), fromJson),
  refusal: (required, order, terms) => {
    const { accepts: _, ...words } = required
    return { headers: {}, body: words, ...personalOffers(required, order, terms) }
  },
  carriesBriefReceipts: true,
  receiptHeaders: (settlement, { receipts }) => ({
    "PAYMENT-RESPONSE": Base64Json.encode(receiptOf(settlement, receipts))
  })
}
