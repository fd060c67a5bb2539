/**
 * The terms of an offer that an operator delivers from its inventory, `extra.inventory`. The offer itself is of the chain that is paid
 * on: `payTo` is the operator's account, and `maxAmountRequired` is `amount + fee`. They are read by hand: a payer's bundle has no schemas.
 */
import type { PaymentRequirements } from "@pontage/core"
import * as Amount from "@pontage/core/Amount"
import * as Network from "@pontage/core/Network"

import * as EvmNetwork from "../primitives/EvmNetwork.ts"

/** The name of such payments among the ways to pay of an offer (`extra.assetTransferMethod`). */
export const method = "inventory"

/** Whether an offer is delivered from an inventory. */
export const isInventory = ({ extra = {} }: Pick<PaymentRequirements.PaymentRequirements, "extra">): boolean =>
  extra["assetTransferMethod"] === method

/** The terms. `network`, `asset` and `payTo` say where the money arrives. */
export interface InventoryTerms {
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly amount: bigint
  readonly fee: bigint
  /** Unix seconds: later the fee may be too low. */
  readonly quotedUntil: number
}

/** Reads terms; the text is the name of the part that is not usable. */
export const read = (json: unknown): InventoryTerms | string => {
  const part = (name: string): unknown =>
    typeof json === "object" && json !== null && Object.hasOwn(json, name) ? Reflect.get(json, name) : undefined
  const [network, asset, payTo] = [part("network"), part("asset"), part("payTo")]
  const [amount, fee, quotedUntil] = [amountIn(part("amount")), amountIn(part("fee")), part("quotedUntil")]
  if (typeof network !== "string") return "network"
  if (typeof asset !== "string") return "asset"
  if (typeof payTo !== "string") return "payTo"
  if (amount === undefined) return "amount"
  if (fee === undefined) return "fee"
  if (typeof quotedUntil !== "number" || !Number.isSafeInteger(quotedUntil)) return "quotedUntil"
  return { network, asset, payTo, amount, fee, quotedUntil }
}

/** The network where the money arrives, in its canonical form: of this family by any of its names. */
export const networkOf = ({ network }: Pick<InventoryTerms, "network">): Network.Network | undefined =>
  EvmNetwork.fromText(network) ?? (Network.isNetwork(network) && !network.startsWith("eip155:") ? network : undefined)

const amountIn = (value: unknown): bigint | undefined =>
  typeof value === "string" && Amount.isText(value) ? BigInt(value) : undefined
