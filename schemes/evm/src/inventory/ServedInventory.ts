/** An operator's inventory as a facilitator serves it: its pairs, their stocks, and the check of a payment's route. */
import {
  type Asset,
  ChainUnavailable,
  type ChainHead,
  type FacilitatorUnavailable,
  invalid,
  type Network,
  type OperatorStock,
  type Payment,
  type PaymentError,
  type Payouts,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type { SignedInventory } from "../payment/InventoryReading.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import type { InventoryLosses } from "./InventoryLosses.ts"

/** The network that a pair leads to. */
export interface FarChain {
  readonly network: Network.Network
  readonly lagGuard: EvmLagGuard.EvmLagGuard
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
}

/** The operator's account on a network of another family. */
export interface FarAccount {
  readonly network: Network.Network
  readonly payouts: Payouts
}

/** A pair of tokens, and its limits in their smallest unit. */
export interface ServedPair {
  /** Its name for people; unique. */
  readonly name: string
  /** The token that buyers pay in, and the one that shops get. */
  readonly paid: Asset
  readonly arriving: Asset
  readonly fee: bigint
  readonly minimumAmount: bigint
  readonly maximumAmount: bigint
  readonly perDay: bigint
  readonly chain: FarChain | FarAccount
  readonly losses: InventoryLosses
  /** Succeeds once the other network's node has answered as configured: nothing is taken in or signed before. */
  readonly proven: Effect.Effect<unknown, ChainUnavailable>
}

/** An inventory. */
export interface ServedInventory {
  /** The account that buyers pay to, and that pays shops. */
  readonly account: EvmAddress.Address
  readonly signer: EvmSigner
  /** The network that buyers pay on. */
  readonly network: Network.Network
  readonly pairs: ReadonlyArray<ServedPair>
}

/** The pair of a route; `undefined` where none is served. */
export const pairOf = (
  { pairs }: ServedInventory,
  token: Asset,
  { network, route }: SignedInventory
): ServedPair | undefined =>
  pairs.find(
    ({ arriving, chain, paid }) =>
      chain.network === network && arriving.address === route.asset && paid.address === token.address
  )

/** The stock that a payment's delivery is paid from; `undefined` where its pair is not served. */
export const stockOf = (
  inventory: ServedInventory,
  { inventory: signed, token }: SignedAuthorization
): OperatorStock | undefined => {
  const pair = signed && pairOf(inventory, token, signed)
  if (signed === undefined || pair === undefined) return undefined
  const { arriving, chain, name, perDay } = pair
  const account = "payouts" in chain ? chain.payouts.account : EvmAddress.checksum(inventory.account)
  const stock = `${chain.network} ${arriving.address} ${account}`
  return { draw: { stock, pair: name, amount: signed.route.amount }, perDay, balance: balanceOf(inventory, pair) }
}

/** The inventory's balance of a pair's second token, as of the newest block that any node has shown. */
export const balanceOf = Effect.fnUntraced(function* (
  { account }: Pick<ServedInventory, "account">,
  { arriving, chain }: Pick<ServedPair, "arriving" | "chain">
): Effect.fn.Return<bigint, ChainUnavailable> {
  if ("payouts" in chain) return yield* chain.payouts.balance(arriving)
  const { lagGuard, network } = chain
  const data: EvmHex.Hex = `0x70a08231${account.slice(2).padStart(64, "0")}`
  const to = EvmAsset.domain(arriving).verifyingContract
  const outcome = yield* lagGuard.confirm((block) => lagGuard.rpc.call({ to, data, gas: 100_000n }, block))
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data)
  const message = `${arriving.symbol} returned no valid amount from balanceOf`
  return yield* new ChainUnavailable({ network, message })
})

/**
 * The longest validity of a payment, in seconds: ten minutes, and what clocks may differ. One whose payer has taken its money away draws on the
 * stock until then, since it may still be paid, and the time that an offer allows is its shop's choice.
 */
const longestValidity = 660

/** Verifies that a payment's route is one of those served, and that its fee covers that of today's settings. */
export const verify = Effect.fnUntraced(function* (
  inventory: ServedInventory | undefined,
  payment: Payment<SignedAuthorization>,
  signed: SignedInventory
): Effect.fn.Return<void, ValidationError | ChainUnavailable | FacilitatorUnavailable> {
  const { authorization, token } = payment.payload
  const pair = inventory && pairOf(inventory, token, signed)
  const { network, route } = signed
  if (inventory === undefined || pair === undefined) {
    return yield* refused(
      "unserved",
      `leads to ${route.asset} on ${network}, which is not served; pay by another option`
    )
  }
  if (authorization.to !== inventory.account) {
    return yield* refused("account", `pays ${EvmAddress.checksum(authorization.to)}, not the facilitator's account`)
  }
  yield* pair.losses.allow(payment)
  const left = payment.authorization.validBefore - Math.floor((yield* Clock.currentTimeMillis) / 1000)
  if (left > longestValidity) {
    return yield* refused(
      "valid_too_long",
      `may be paid for ${left} seconds more; at most ${longestValidity} are taken`
    )
  }
  yield* pair.proven
  if (!isPayable(inventory, pair, route.recipient)) {
    return yield* refused("recipient", `leads to "${route.recipient}", which cannot be paid on ${network}`)
  }
  if (route.amount < pair.minimumAmount || route.amount > pair.maximumAmount) {
    const range = `${pair.minimumAmount} to ${pair.maximumAmount}`
    return yield* refused("amount", `brings ${route.amount}; ${range} are paid over this pair`)
  }
  if (route.fee < pair.fee) {
    return yield* refused(
      "fee",
      `has a fee of ${route.fee}, and it costs ${pair.fee}; request the resource again and pay by its new quote`
    )
  }
})

/** Whether a text is an account in the one form that the other network's family writes, and can be paid. */
const isPayable = ({ account }: ServedInventory, { arriving, chain }: ServedPair, text: string): boolean => {
  if ("payouts" in chain) {
    const { account: own, scheme } = chain.payouts
    const isFault = scheme.recipientFault?.(text) !== undefined
    return scheme.address(text) === text && !isFault && text !== own && text !== arriving.address
  }
  const recipient = EvmAddress.fromText(text)
  const unpayable = [EvmAddress.zero, account, EvmAsset.domain(arriving).verifyingContract]
  return (
    recipient !== undefined &&
    EvmAddress.checksum(recipient) === text &&
    !unpayable.some((address) => address === recipient)
  )
}

/**
 * Refuses a payment without a route to the inventory's account, by whichever way to pay: a party that has seen a payment with a route could
 * present its authorization without it, and the shop would get nothing.
 */
export const demandRoute = (
  inventory: ServedInventory | undefined,
  payee: EvmAddress.Address
): Effect.Effect<void, PaymentError> =>
  inventory?.account === payee
    ? refuse(
        "INVALID_RECIPIENT",
        "inventory_missing",
        "the payee is the facilitator's inventory, and money that reaches it without a route pays for nothing"
      )
    : Effect.void

const refused = (rule: string, what: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `inventory_${rule}`, `the payment's route ${what}`))
