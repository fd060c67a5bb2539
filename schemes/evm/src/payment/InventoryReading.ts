/**
 * Reads payments that an operator delivers from its inventory: from the signed bytes and the offer alone. The signature covers the whole
 * route by its nonce. A route leads where the offer says, always; its amounts are compared for new payments alone (`agree`): one on record
 * is shown again with today's offer, whose price and fee may be others, and the core compares what arrives.
 */
import { invalid, type Network, type PaymentRequirements, type ValidationError } from "@pontage/core"
import type { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as InventoryRoute from "../route/InventoryRoute.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as InventoryTerms from "./InventoryTerms.ts"

/** A route, the network that it leads to, and the amount that the offer asks to arrive. */
export interface SignedInventory {
  readonly route: InventoryRoute.InventoryRoute
  readonly network: Network.Network
  readonly asked: bigint
}

interface InventoryPayload {
  readonly signature: string
  readonly authorization: Eip3009.TransferWithAuthorization
  readonly inventory: InventoryRoute.InventoryRoute
  readonly binding?: RequestBinding
}

/** A payment to an inventory as the payload of a payment. */
export interface InventoryReading extends Omit<InventoryPayload, "inventory"> {
  readonly inventory: SignedInventory
}

/** The terms of an offer; fails with `malformed` where they are not terms of an inventory. */
const termsOf = ({
  extra = {}
}: Pick<PaymentRequirements.PaymentRequirements, "extra">): Effect.Effect<
  InventoryTerms.InventoryTerms,
  ValidationError
> => {
  const terms = InventoryTerms.read(extra["inventory"])
  return typeof terms === "string"
    ? Effect.fail(invalid("malformed", "inventory_terms", `the ${terms} in the offer's extra.inventory is not usable`))
    : Effect.succeed(terms)
}

/** Reads a payment to an inventory on a network; fails with the rule that it breaks. */
export const read = Effect.fnUntraced(function* (
  network: Network.Network,
  requirements: PaymentRequirements.PaymentRequirements,
  { inventory: route, ...payload }: InventoryPayload
): Effect.fn.Return<InventoryReading, ValidationError> {
  const { authorization } = payload
  if (!InventoryTerms.isInventory(requirements)) return yield* refused("not_offered", "is not what the offer asks for")
  const terms = yield* termsOf(requirements)
  const far = InventoryTerms.networkOf(terms)
  if (far === undefined || far === network) {
    return yield* refused("network", `leads to "${terms.network}", which is no other network`)
  }
  const token = EvmAddress.fromText(requirements.asset ?? "") ?? EvmAddress.zero
  const place = { chainId: EvmNetwork.chainId(network), token, account: authorization.to }
  if (authorization.nonce !== InventoryRoute.nonceOf(place, route)) {
    return yield* refused("nonce", "is not the one that the nonce was made of")
  }
  if (authorization.value !== route.amount + route.fee) {
    return yield* refused("value", `takes ${route.amount + route.fee}, and the payment is of ${authorization.value}`)
  }
  const elsewhere = differing(route, placeIn(terms, far))
  if (elsewhere !== undefined) return yield* refused("terms", `has another ${elsewhere} than the offer`)
  if (route.amount === 0n) return yield* refused("amount", "lets nothing arrive")
  return { ...payload, inventory: { route, network: far, asked: terms.amount } }
})

/** Succeeds if every part of a route is the offer's. */
export const agree = Effect.fnUntraced(function* (
  requirements: PaymentRequirements.PaymentRequirements,
  { network, route }: SignedInventory
): Effect.fn.Return<void, ValidationError> {
  const terms = yield* termsOf(requirements)
  const other = differing(route, { ...placeIn(terms, network), amount: terms.amount, fee: terms.fee })
  if (other !== undefined) return yield* refused("terms", `has another ${other} than the offer`)
})

/** The parts of a route that say where the money goes. */
const placeIn = ({ asset, payTo: recipient }: InventoryTerms.InventoryTerms, network: Network.Network) => ({
  network,
  asset,
  recipient
})

/** The first part of a route that is not as wanted. */
const differing = (
  route: InventoryRoute.InventoryRoute,
  wanted: Readonly<Record<string, unknown>>
): string | undefined => Object.entries(wanted).find(([key, value]) => Reflect.get(route, key) !== value)?.[0]

const refused = (rule: string, what: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `inventory_${rule}`, `the payment's route ${what}`))
