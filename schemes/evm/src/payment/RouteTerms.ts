/**
 * The terms of a route in an offer, `extra.route`. The offer itself is of the chain that is paid on: `payTo` is the router, and
 * `maxAmountRequired` is `amount + fee`. They are read by hand: a payer's bundle has no schemas.
 */
import type { PaymentRequirements } from "@pontage/core"
import * as Amount from "@pontage/core/Amount"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as RouteLimits from "../route/RouteLimits.ts"
import * as RouteRouters from "../route/RouteRouters.ts"

/** The name of routes among the ways to pay of an offer (`extra.assetTransferMethod`). */
export const method = "route"

/** Whether an offer is paid by a route. */
export const isRouted = ({ extra = {} }: Pick<PaymentRequirements.PaymentRequirements, "extra">): boolean =>
  extra["assetTransferMethod"] === method

/** The terms. `network`, `asset` and `payTo` say where the money arrives. */
export interface RouteTerms {
  readonly kind: RouteRouters.RouteKind
  readonly network: string
  readonly asset: EvmAddress.Address
  readonly payTo: EvmAddress.Address
  readonly bridge: EvmAddress.Address
  readonly destination: number
  readonly amount: bigint
  readonly minimum: bigint
  readonly fee: bigint
  readonly feeTo: EvmAddress.Address
  readonly options: EvmHex.Hex
  /** Unix seconds: later the fee may be too low. */
  readonly quotedUntil: number
}

/** Reads terms; the text is the name of the part that is not usable. */
export const read = (json: unknown): RouteTerms | string => {
  const part = (name: string): unknown =>
    typeof json === "object" && json !== null && Object.hasOwn(json, name) ? Reflect.get(json, name) : undefined
  const address = (name: string) => addressIn(part(name))
  const amount = (name: string) => amountIn(part(name))
  const network = part("network")
  const destination = part("destination")
  const quotedUntil = part("quotedUntil")
  const options = part("options")
  const kind = RouteRouters.kindIn(part("kind"))
  if (kind === undefined) return "kind"
  if (typeof network !== "string") return "network"
  if (!RouteLimits.isEndpointId(destination)) return "destination"
  if (!Number.isSafeInteger(quotedUntil) || typeof quotedUntil !== "number") return "quotedUntil"
  if (!RouteLimits.isOptions(options)) return "options"
  const addresses = {
    asset: address("asset"),
    payTo: address("payTo"),
    bridge: address("bridge"),
    feeTo: address("feeTo")
  }
  const amounts = { amount: amount("amount"), minimum: amount("minimum"), fee: amount("fee") }
  const missing = Object.entries({ ...addresses, ...amounts }).find(([, value]) => value === undefined)
  const { asset, bridge, feeTo, payTo } = addresses
  if (asset === undefined || bridge === undefined || feeTo === undefined || payTo === undefined)
    return missing?.[0] ?? ""
  if (amounts.amount === undefined || amounts.minimum === undefined || amounts.fee === undefined)
    return missing?.[0] ?? ""
  const { amount: sent, fee, minimum } = amounts
  const where = { kind, network, asset, payTo, bridge, destination, feeTo }
  return { ...where, amount: sent, minimum, fee, options: EvmHex.toLowerCase(options), quotedUntil }
}

const addressIn = (value: unknown): EvmAddress.Address | undefined =>
  typeof value === "string" ? EvmAddress.fromText(value) : undefined

const amountIn = (value: unknown): bigint | undefined =>
  typeof value === "string" && Amount.isText(value) ? BigInt(value) : undefined
