/**
 * The state of an operator's own payment, whichever account has relayed it: the credit in the recipient's Jetton wallet is its delivery. It
 * is over where nothing can credit it any more: its wallet has used the number for another request, its validity is over, or a Jetton
 * wallet on its way has rejected it. The masterchain reverts nothing, but a node may show something wrong once: an end counts only when it
 * was shown as of two blocks.
 */
import { ChainUnavailable, type Payment, type PayoutState } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import type { Network } from "@pontage/core/Network"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { SignedJettonTransfer } from "../payment/ExactTonReading.ts"
import * as TonPayer from "../payment/TonPayer.ts"
import type { TonJettons } from "../transfer/TonJettons.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import type { WalletRequest } from "../wallet/WalletRequest.ts"
import * as TonConclusion from "./TonConclusion.ts"
import * as TonInclusion from "./TonInclusion.ts"
import type { TonSearches } from "./TonSearches.ts"
import * as TonTransferEvidence from "./TonTransferEvidence.ts"

/** The parts that observations use. */
export interface Context {
  readonly rpc: TonRpc.TonRpc
  readonly network: Network
  readonly jettons: TonJettons
  readonly searches: TonSearches
  readonly ends: Ends
}

/** The end that a payment was seen to have, and the first masterchain block as of which it was, by the payment's nonce. */
export type Ends = BoundedMap.BoundedMap<string, { readonly name: string; readonly block: bigint }>

/** Nothing was seen yet. */
export const makeEnds = (): Ends => BoundedMap.oldestOut(1_000)

/** Whether the wallet may still carry a request out, as of an account's state. */
export const isOpen = (
  { seqno, validUntil }: Pick<WalletRequest, "seqno" | "validUntil">,
  { code, data, head }: TonRpc.Account
): boolean => {
  const wallet = code && data && TonWallet.read(code, data)
  return (wallet?.seqno ?? 0) <= seqno && head.time < validUntil + TonConclusion.overlap
}

const open: PayoutState = { _tag: "Open" }

/** Observes a payment. */
export const observe = Effect.fnUntraced(function* (
  context: Context,
  payment: Payment<SignedJettonTransfer>
): Effect.fn.Return<PayoutState, ChainUnavailable> {
  const { ends, rpc } = context
  const { nonce, payer } = payment.payload
  const account = yield* rpc.account(payer)
  const state = yield* stateOf(context, payment, account)
  if (state._tag === "Open") {
    ends.delete(nonce)
    return state
  }
  const name = state._tag === "Delivered" ? state.transaction : state._tag
  const { number } = account.head
  const seen = ends.get(nonce)
  const isAgreed = seen?.name === name && seen.block < number
  if (seen?.name !== name) ends.set(nonce, { name, block: number })
  if (state._tag === "Delivered") return { ...state, final: isAgreed }
  return isAgreed ? state : open
})

const stateOf = Effect.fnUntraced(function* (
  context: Context,
  payment: Payment<SignedJettonTransfer>,
  account: TonRpc.Account
): Effect.fn.Return<PayoutState, ChainUnavailable> {
  const { jettons, rpc, searches } = context
  const { payload: signed } = payment
  // A wallet that has carried requests out stays one: what else a node shows proves nothing.
  if (account.state === "frozen" || (account.state === "uninitialized" && signed.request.seqno > 0)) {
    const message = `the node shows no wallet at ${signed.payer}, which has made payments`
    return yield* new ChainUnavailable({ network: context.network, message })
  }
  if (!TonPayer.isUsed(signed, account))
    return isOpen(signed.request, account) ? open : { _tag: "Over", isUnsent: true }
  const carrying = yield* searches.find(payment, account)
  if (carrying === undefined) return { _tag: "Over", isUnsent: true }
  const recipient = yield* jettons.walletOf(signed.master, signed.transfer.to)
  const evidence = yield* TonTransferEvidence.follow(rpc, signed, recipient, carrying)
  if (evidence._tag === "Pending") return open
  if (evidence._tag === "Credited") {
    const { credit } = evidence
    const block = yield* TonInclusion.blockOf(rpc, credit)
    const { amount } = signed.transfer
    return { _tag: "Delivered", transaction: credit.hash, block, amount, final: true }
  }
  // A Jetton wallet that took the message and sent no credit on has done something unknown with the money.
  return evidence.at.isCarriedOut ? open : { _tag: "Over", isUnsent: false }
})
