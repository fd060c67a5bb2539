/**
 * How roles are started, in this process or as one of their own, and what they are told.
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import type { Shop } from "./shops/Goods.ts"

const Hex = Schema.TemplateLiteral(["0x", Schema.String])
const port = Schema.optionalKey(Schema.Number)

/** A facilitator: the node it settles through and the account that pays for the gas. */
export const FacilitatorOptions = Schema.Struct({
  rpcUrl: Schema.String,
  key: Hex,
  /** Default: a free one. */
  port,
  /**
   * How the peers' signer numbers its transactions: `asked`, as their example does, takes the node's word for each one and
   * collides with itself under load; `counted` is viem's nonce manager. Default `counted`.
   */
  nonces: Schema.optionalKey(Schema.Literals(["asked", "counted"])),
  /** Poll interval of the peers' signer for a receipt, in milliseconds; default viem's own. */
  pollingMillis: Schema.optionalKey(Schema.Number)
})

/** Told to a facilitator. */
export type FacilitatorOptions = typeof FacilitatorOptions.Type

/** Starts a facilitator as long as the scope. */
export type StartFacilitator = (
  options: FacilitatorOptions
) => Effect.Effect<{ readonly url: string }, unknown, Scope.Scope>

/** A shop: who settles its payments, and who gets them. */
export const ShopOptions = Schema.Struct({
  /** The facilitator's URL. */
  facilitator: Schema.String,
  /** A node, for shops that look at the chain when they open. */
  rpcUrl: Schema.String,
  payTo: Hex,
  /** Default: a free one. */
  port,
  /** Our shops' public origin; default: the URL at which they listen. */
  origin: Schema.optionalKey(Schema.String),
  /** Whether our shops ask for payments that are bound to their request; default `preferred`. */
  binding: Schema.optionalKey(Schema.Literals(["required", "preferred", "off"])),
  /** When our shops take the money; default `before-handler`. */
  settle: Schema.optionalKey(Schema.Literals(["before-handler", "after-handler"])),
  /** The key that our shop signs its receipts with; default: they are not signed. */
  receiptKey: Schema.optionalKey(Hex),
  /** The one protocol that our shops sell by; default: all. */
  only: Schema.optionalKey(Schema.Literals(["mpp"])),
  /** Whether our shops send a served response again; default `none`. */
  repeat: Schema.optionalKey(Schema.Literals(["none", "same"]))
})

/** Told to a shop. */
export type ShopOptions = typeof ShopOptions.Type

/** Opens a shop as long as the scope. */
export type StartShop = (options: ShopOptions) => Effect.Effect<Shop, unknown, Scope.Scope>

/** Buyers: one for each key. */
export const BuyerOptions = Schema.Struct({
  keys: Schema.Array(Hex),
  /** A node, for wallets that want one. */
  rpcUrl: Schema.String,
  /** The goods. */
  url: Schema.String
})

/** Told to buyers. */
export type BuyerOptions = typeof BuyerOptions.Type
