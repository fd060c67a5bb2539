/**
 * The onward part of payments that an operator delivers from its inventory. The operator's payment to the shop is an ordinary payment of
 * `exact` on the other network, signed by the inventory's key once the buyer's money is final: its nonce follows from the buyer's, so the
 * other token makes it once, however often it is signed and sent. On networks of other families each signing makes another payment
 * (`AccountPayout`).
 */
import {
  type Asset,
  ChainUnavailable,
  type ChainHead,
  type DeliveryObservation,
  type Departure,
  type Push
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmFinality from "../evidence/EvmFinality.ts"
import * as EvmTokenState from "../evidence/EvmTokenState.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type { SignedInventory } from "../payment/InventoryReading.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as InventoryRoute from "../route/InventoryRoute.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import { signatureOf } from "../wallet/EvmSigner.ts"
import * as AccountPayout from "./AccountPayout.ts"
import { type FarChain, pairOf, type ServedInventory, type ServedPair } from "./ServedInventory.ts"

/** A time that never comes: a payment that waits for coin or for the token stays the same one. */
const forever = 4_102_444_800n
/** Gas for a payment that is tried. */
const payoutGas = 300_000n
/** Seconds by which the clock of one chain may be ahead of the other's. */
const clockSkew = 600

/** The chain that buyers pay on. */
export interface NearChain {
  readonly rpc: EvmRpc.Shape
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
}

/** Observes the delivery of a payment to an inventory. */
export const observe = Effect.fnUntraced(function* (
  near: NearChain,
  inventory: ServedInventory | undefined,
  { block, payment, pushed, transaction }: Departure<SignedAuthorization>,
  signed: SignedInventory
): Effect.fn.Return<DeliveryObservation, ChainUnavailable> {
  const { authorization, token } = payment.payload
  const pair = inventory && pairOf(inventory, token, signed)
  if (inventory === undefined || pair === undefined || authorization.to !== inventory.account) {
    return blocked("this facilitator is not configured for its inventory any more; configure it again")
  }
  const nearHead = yield* near.chainHead
  const seen = yield* landed(near, payment.payload, transaction)
  const payer = yield* payerOf(inventory, pair, { payment, signed, pushed })
  const end = yield* payer.end((seen?.time ?? (yield* timeOf(near, block.number))) - clockSkew)
  if (end?._tag === "Delivered") yield* counted(near, pair, { payment, block, isThere: seen !== undefined, nearHead })
  if (end !== undefined) return end
  if (seen === undefined) return yield* unshown(near, `the payment of ${transaction}`)
  // A reorganisation would take the buyer's money back after the shop has been paid.
  if (seen.number !== block.number || !(yield* isFinal(near, nearHead, payment.payload, block)))
    return { _tag: "Underway", reason: `it is paid once the block ${block.number} of ${near.rpc.network} is final` }
  yield* pair.proven
  return yield* payer.pay
})

/** One payment of the operator: its end, if it has one, and the payment itself. */
interface Payout {
  readonly end: (since: number) => Effect.Effect<DeliveryObservation | undefined, ChainUnavailable>
  readonly pay: Effect.Effect<DeliveryObservation, ChainUnavailable>
}

/** The payment that a payout is made for, its route, and the last push on record. */
interface Owed {
  readonly payment: Departure<SignedAuthorization>["payment"]
  readonly signed: SignedInventory
  readonly pushed: Push | undefined
}

const payerOf = Effect.fnUntraced(function* (
  inventory: ServedInventory,
  pair: ServedPair,
  { payment, pushed, signed }: Owed
): Effect.fn.Return<Payout, ChainUnavailable> {
  const { chain } = pair
  if ("payouts" in chain) return yield* AccountPayout.make(chain.payouts, pair.arriving, signed, pushed)
  const payout = payoutOf(inventory, payment.payload, signed)
  return {
    end: (since) => endOf(pair, chain, payout, since),
    pay: pay(inventory, pair, chain, payout)
  }
})

/** Signs a payment whose nonce the other token takes once. */
const pay = Effect.fnUntraced(function* (
  inventory: ServedInventory,
  { arriving }: ServedPair,
  chain: FarChain,
  payout: Eip3009.TransferWithAuthorization
): Effect.fn.Return<DeliveryObservation, ChainUnavailable> {
  const signature = yield* signedBy(inventory, arriving, payout)
  const refusal = yield* trial(arriving, chain, payout, signature)
  if (refusal !== undefined) return blocked(`${chain.network} would refuse it now: ${refusal}`)
  return {
    _tag: "Ready",
    push: {
      requirements: {
        scheme: ExactEvm.scheme.name,
        network: chain.network,
        maxAmountRequired: `${payout.value}`,
        resource: "urn:pontage:delivery",
        payTo: EvmAddress.checksum(payout.to),
        asset: arriving.address
      },
      payload: { signature, authorization: Eip3009.onWire(payout) }
    }
  }
})

const blocked = (reason: string): DeliveryObservation => ({ _tag: "Blocked", reason })

/** The operator's payment to the shop. */
const payoutOf = (
  { account, network }: ServedInventory,
  { authorization, token }: SignedAuthorization,
  { route }: SignedInventory
): Eip3009.TransferWithAuthorization => ({
  from: account,
  to: EvmAddress.fromText(route.recipient) ?? EvmAddress.zero,
  value: route.amount,
  validAfter: 0n,
  validBefore: forever,
  nonce: InventoryRoute.payoutNonceOf({
    chainId: EvmNetwork.chainId(network),
    token: EvmAsset.domain(token).verifyingContract,
    payer: authorization.from,
    nonce: authorization.nonce
  })
})

/** The block of the buyer's transfer and its time; `undefined` while the first chain does not show it. */
const landed = Effect.fnUntraced(function* (
  { rpc }: NearChain,
  { authorization, token }: SignedAuthorization,
  transaction: string
): Effect.fn.Return<{ readonly number: bigint; readonly time: number } | undefined, ChainUnavailable> {
  const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, EvmHex.fromTrusted(transaction))
  const expected = { token: EvmAsset.domain(token).verifyingContract, authorization }
  const isPaid =
    receipt !== undefined && EvmTransferEvidence.judge(expected, EvmTransferEvidence.usesIn(receipt.logs)) === "paid"
  return isPaid ? { number: receipt.blockNumber, time: receipt.time } : undefined
})

/** Whether the buyer's payment in this block is beyond doubt, by a head that was read before it. */
const isFinal = (
  { rpc }: NearChain,
  head: ChainHead,
  { authorization, token }: SignedAuthorization,
  block: Departure["block"]
) => {
  const expected = { token: EvmAsset.domain(token).verifyingContract, authorization }
  return EvmFinality.isFinal(rpc, head, block, (at) => EvmTokenState.hasEnded(rpc, expected, at))
}

const unshown = ({ rpc: { network } }: NearChain, what: string) =>
  Effect.fail(new ChainUnavailable({ network, message: `the node of ${network} does not show ${what}` }))

/** The time of the block at this height, in Unix seconds. */
const timeOf = Effect.fnUntraced(function* (near: NearChain, number: bigint) {
  const block = yield* near.rpc.getBlock(number)
  return block === undefined ? yield* unshown(near, `the block ${number}`) : Number(block.timestamp)
})

/** A payment whose shop is paid, and whether its own chain shows it. */
interface PaidOut {
  readonly payment: Departure<SignedAuthorization>["payment"]
  readonly block: Departure["block"]
  readonly isThere: boolean
  /** The head of its own chain, read before the payment was looked for. */
  readonly nearHead: ChainHead
}

/** Counts the loss of a payment that its own chain has taken back after its block counted as final. */
const counted = Effect.fnUntraced(function* (
  { rpc }: NearChain,
  { losses }: ServedPair,
  { block, isThere, nearHead, payment }: PaidOut
): Effect.fn.Return<void, ChainUnavailable> {
  if (isThere) return yield* losses.retract(payment)
  if (block.number > nearHead.final || (yield* rpc.getBlock(block.number))?.hash === block.hash) return
  const { amount, arrival, payer } = payment.authorization
  if (!(yield* losses.lose(payment, arrival?.amount ?? amount))) return
  yield* Effect.logError(
    `${rpc.network} has taken back a payment of ${amount} by ${payer} after its block ${block.number} counted as final, and its shop is paid: the amount is lost; raise finalityDepth`
  )
})

/** The end of the operator's payment on the other chain; `undefined` while its authorization is not used. */
const endOf = Effect.fnUntraced(function* (
  { arriving }: ServedPair,
  chain: FarChain,
  payout: Eip3009.TransferWithAuthorization,
  since: number
): Effect.fn.Return<DeliveryObservation | undefined, ChainUnavailable> {
  const { rpc } = chain.lagGuard
  const head = yield* chain.chainHead
  const expected = { token: EvmAsset.domain(arriving).verifyingContract, authorization: payout }
  const { isEnded, newest } = yield* chain.lagGuard.confirm((newest) =>
    Effect.map(EvmTokenState.hasEnded(rpc, expected, newest), (isEnded) => ({ isEnded, newest }))
  )
  if (!isEnded) return undefined
  const end = yield* EvmAuthorizationSearch.fromTime(rpc, { expected, since: 0n }, Math.max(since, 0), newest)
  const seen = end && (yield* EvmTransferEvidence.reader(rpc)({ expected, isOurs: () => true }, end))
  if (seen?._tag === "Failed") {
    return blocked(`the inventory's own key has used up the nonce of its payment: ${seen.error.detail}`)
  }
  if (seen?._tag !== "Settled") {
    const message = `${rpc.network} has the payment of the nonce ${payout.nonce}, and no node shows by which transaction`
    return yield* new ChainUnavailable({ network: rpc.network, message })
  }
  const { block, transaction } = seen
  const final = yield* EvmFinality.isFinal(rpc, head, block, (at) => EvmTokenState.hasEnded(rpc, expected, at))
  return { _tag: "Delivered", transaction, block, amount: payout.value, final }
})

const signedBy = (
  { signer }: ServedInventory,
  arriving: Asset,
  payout: Eip3009.TransferWithAuthorization
): Effect.Effect<EvmHex.Hex, ChainUnavailable> =>
  Effect.mapError(
    signatureOf(signer, Eip3009.typedData(EvmAsset.domain(arriving), payout)),
    ({ message }) =>
      new ChainUnavailable({
        network: arriving.network,
        message: `the inventory's payment cannot be signed: ${message}`
      })
  )

/** Tries the payment; the reason why it would fail now, if it would. */
const trial = (
  arriving: Asset,
  { lagGuard }: FarChain,
  payout: Eip3009.TransferWithAuthorization,
  signature: EvmHex.Hex
) =>
  EvmRevert.refusal(lagGuard, {
    to: EvmAsset.domain(arriving).verifyingContract,
    data: Eip3009.encodeTransferByParts(payout, signature),
    gas: payoutGas
  })
