/**
 * Payments that a tenant brings to the facilitator by itself, without a shop, as a hostile tenant without goods does.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { Tenant } from "../stage/AttackStage.ts"
import * as HostileCall from "./HostileCall.ts"
import type { Offer } from "./HostileWallet.ts"

/** A settlement request: the payment in its envelope and the terms that it pays. */
export interface Order {
  readonly paymentPayload: unknown
  readonly paymentRequirements: unknown
}

/** The header of a tenant's key. */
export const bearer = ({ key }: Tenant) => ({ authorization: `Bearer ${key}` })

/** Requests the settlement of a payment and reads the response. */
export const settle = (url: string, tenant: Tenant, order: Order): Effect.Effect<HostileCall.Reply> =>
  HostileCall.send(`${url}/settle`, HostileCall.posting({ protocolVersion: 2, ...order }, bearer(tenant)))

const Verdict = Schema.Struct({
  success: Schema.optionalKey(Schema.Boolean),
  detail: Schema.optionalKey(Schema.String),
  code: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String)
})
const decodeVerdict = Schema.decodeUnknownOption(Schema.fromJsonString(Verdict))

const verdictIn = ({ text }: HostileCall.Reply): typeof Verdict.Type =>
  Option.getOrElse(decodeVerdict(text), () => ({}))

/** Whether a response says that the payment is settled. */
export const isSettled = (reply: HostileCall.Reply): boolean =>
  reply.status === 200 && verdictIn(reply).success === true

/** Whether a response leaves the payment's end open. */
const isOpen = (reply: HostileCall.Reply): boolean => {
  const { code, reason, success } = verdictIn(reply)
  return reply.status === 200 && success === false && code === undefined && reason === undefined
}

/** The same, again as long as the payment's end is not known. */
export const settled = (url: string, tenant: Tenant, order: Order): Effect.Effect<HostileCall.Reply> =>
  Effect.repeat(settle(url, tenant, order), { while: isOpen, times: 60 })

/** A response as one word: settled, open, its refusal's detail, or its status. */
export const wordOf = (reply: HostileCall.Reply): string => {
  if (isSettled(reply)) return "settled"
  if (isOpen(reply)) return "open"
  return verdictIn(reply).detail ?? `${reply.status}`
}

/** Counts of the responses by their word. */
export const countsOf = (replies: ReadonlyArray<HostileCall.Reply>): string => {
  const counts = new Map<string, number>()
  for (const reply of replies) counts.set(wordOf(reply), (counts.get(wordOf(reply)) ?? 0) + 1)
  return [...counts].map(([word, count]) => `${count} x ${word}`).join(", ")
}

/** A hundredth of a dollar to a tenant on the chain of the stage. */
export const evmOffer = ({ payTo }: Tenant): Offer => ({
  scheme: "exact",
  network: BaseSepolia.network,
  amount: `${BaseSepolia.amount}`,
  asset: BaseSepolia.token,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: BaseSepolia.tokenDomain.name, version: BaseSepolia.tokenDomain.version }
})

/** The terms of an offer in Pontage's own form. */
export const requirementsOf = (offer: Offer) => ({
  scheme: offer.scheme,
  network: offer.network,
  maxAmountRequired: offer.amount,
  resource: "https://mallory.example/",
  payTo: offer.payTo,
  asset: offer.asset,
  maxTimeoutSeconds: offer.maxTimeoutSeconds,
  extra: offer.extra
})

/** A payload in the envelope of our own dialect. */
export const sealed = (network: string, payload: unknown) => ({
  protocolVersion: 2,
  scheme: "exact",
  network,
  payload: Buffer.from(JSON.stringify(payload)).toString("base64")
})
