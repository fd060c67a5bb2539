/**
 * The payment requirements of x402, in both versions, and their conversion from and to ours. Amounts are decimal
 * strings of the smallest unit in all three. Sources: x402 specification versions 1 and 2, section
 * "PaymentRequirements".
 */
import * as Schema from "effect/Schema"

import * as Amount from "../../protocol/Amount.ts"
import { Network } from "../../protocol/Network.ts"
import { defaultMaxTimeoutSeconds, type PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { AcceptedOffer } from "../pontage/Dialect.ts"
import * as X402Network from "./X402Network.ts"

const Extra = /* @__PURE__ */ Schema.optionalKey(
  /* @__PURE__ */ Schema.NullOr(/* @__PURE__ */ Schema.Record(Schema.String, Schema.Json))
)

/** Positive and finite; peers give no upper bound. */
const Seconds = /* @__PURE__ */ Schema.Finite.check(
  /* @__PURE__ */ Schema.makeFilter((seconds: number) => seconds > 0, { expected: "a positive number of seconds" })
)

/** Requirements of version 2. */
export const OfferV2 = /* @__PURE__ */ Schema.Struct({
  scheme: Schema.String,
  network: Network,
  amount: Amount.Text,
  asset: Schema.String,
  payTo: Schema.String,
  maxTimeoutSeconds: Seconds,
  extra: Extra
})

export type OfferV2 = typeof OfferV2.Type

/** Requirements of version 1. */
export const OfferV1 = /* @__PURE__ */ Schema.Struct({
  scheme: Schema.String,
  network: Schema.String,
  maxAmountRequired: Amount.Text,
  resource: Schema.String,
  description: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  mimeType: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  payTo: Schema.String,
  maxTimeoutSeconds: Seconds,
  asset: Schema.String,
  extra: Extra
})

export type OfferV1 = typeof OfferV1.Type

/** The resource of an offer of version 2, which is a field beside the offers there. */
export const ResourceV2 = /* @__PURE__ */ Schema.Struct({
  url: Schema.String,
  description: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.NullOr(Schema.String)),
  mimeType: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.NullOr(Schema.String))
})

export type ResourceV2 = typeof ResourceV2.Type

/**
 * Whether x402's payers can pay an offer. A payer that does not know its way to pay signs a plain transfer, which a bridge's router would
 * keep: they are not shown such an offer.
 */
export const isPayable = ({ extra = {} }: Pick<PaymentRequirements, "extra">): boolean =>
  extra["assetTransferMethod"] !== "route"

/** Requirements of version 2, their keys in the order in which peers write them. */
export const toV2 = (requirements: PaymentRequirements): OfferV2 => ({
  scheme: requirements.scheme,
  network: X402Network.toV2(requirements.network),
  amount: requirements.maxAmountRequired,
  asset: requirements.asset ?? "",
  payTo: requirements.payTo,
  maxTimeoutSeconds: requirements.maxTimeoutSeconds ?? defaultMaxTimeoutSeconds,
  extra: { ...requirements.extra }
})

/** The resource that an offer names. */
export const resourceOf = ({ description, mimeType, resource }: PaymentRequirements): ResourceV2 => ({
  url: resource,
  description: description ?? "",
  mimeType: mimeType ?? ""
})

/**
 * Requirements of version 1; `undefined` on a network that version 1 has no name for. Peers parse every field against
 * their own schema, so the optional ones are written too.
 */
export const toV1 = (requirements: PaymentRequirements): OfferV1 | undefined => {
  const network = X402Network.nameOf(requirements.network)
  if (network === undefined) return undefined
  return {
    scheme: requirements.scheme,
    network,
    maxAmountRequired: requirements.maxAmountRequired,
    resource: requirements.resource,
    description: requirements.description ?? "",
    mimeType: requirements.mimeType ?? "",
    payTo: requirements.payTo,
    maxTimeoutSeconds: requirements.maxTimeoutSeconds ?? defaultMaxTimeoutSeconds,
    asset: requirements.asset ?? "",
    extra: { ...requirements.extra }
  }
}

/** Limits a duration in seconds to 1 to 86400: no payer signs for more than a day. */
const withinADay = (seconds: number): number => Math.max(1, Math.min(Math.floor(seconds), 86_400))

/** Converts requirements of version 2 to ours. */
export const fromV2 = (offer: OfferV2, resource: ResourceV2 | undefined): PaymentRequirements => ({
  scheme: offer.scheme,
  network: X402Network.fromV2(offer.network),
  maxAmountRequired: offer.amount,
  resource: resource?.url ?? "",
  ...(typeof resource?.description === "string" && { description: resource.description }),
  ...(typeof resource?.mimeType === "string" && { mimeType: resource.mimeType }),
  payTo: offer.payTo,
  maxTimeoutSeconds: withinADay(offer.maxTimeoutSeconds),
  asset: offer.asset,
  extra: { ...offer.extra }
})

/** Converts requirements of version 1 to ours; `undefined` if the network's name is unknown. */
export const fromV1 = (offer: OfferV1): PaymentRequirements | undefined => {
  const network = X402Network.fromName(offer.network)
  if (network === undefined) return undefined
  const { asset, description, maxAmountRequired, mimeType, payTo, resource, scheme } = offer
  return {
    scheme,
    network,
    maxAmountRequired,
    resource,
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    payTo,
    maxTimeoutSeconds: withinADay(offer.maxTimeoutSeconds),
    asset,
    extra: { ...offer.extra }
  }
}

/** The offer that a payment of version 2 repeats. */
export const accepted = ({ amount, extra, network, ...terms }: OfferV2): AcceptedOffer => ({
  ...terms,
  network: X402Network.fromV2(network),
  maxAmountRequired: amount,
  extra: { ...extra }
})
