/**
 * Follows a transfer from the payer's wallet to the recipient's Jetton wallet, message by message. Neither the payer's used
 * number nor the success of the payer's Jetton wallet proves that the recipient was paid: only the credit does.
 */
import { ChainUnavailable, invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import { isResult, type Sent, type TonTransaction } from "../node/TonTransaction.ts"
import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"
import * as WalletRequest from "../wallet/WalletRequest.ts"

/** Evidence of a transfer: not ended yet, the credit, or the transaction that stopped it. */
export type TonTransferEvidence =
  | { readonly _tag: "Pending" }
  | { readonly _tag: "Credited"; readonly credit: TonTransaction }
  /** It ended before the credit; `culprit` is the account at fault. */
  | {
      readonly _tag: "Stopped"
      readonly at: TonTransaction
      readonly culprit: TonAddress.Address
      readonly error: PaymentError | ValidationError
    }

const pending: TonTransferEvidence = { _tag: "Pending" }

/** Whether a transaction of the payer's wallet was caused by exactly this request. */
export const isCausedBy = ({ kind, nonce }: TonAuthorization, { cause }: TonTransaction): boolean => {
  if (cause === undefined || cause.isBounced || cause.isExternal !== (kind === "external")) return false
  const request = TonBoc.attempt(() => WalletRequest.read(cause.body, cause.isExternal))
  return request !== undefined && Buffer.from(request.signedHash).toString("hex") === nonce
}

/** Whether a transaction of the payer's wallet carried this request out: it sent the message to the Jetton wallet. */
export const carriesOut = (authorization: TonAuthorization, transaction: TonTransaction): boolean =>
  transaction.isCarriedOut &&
  isCausedBy(authorization, transaction) &&
  orderIn(transaction, authorization) !== undefined

/** The message to the payer's Jetton wallet, with the query id, amount and recipient that were signed. */
const orderIn = ({ sent }: TonTransaction, { jettonWallet, transfer }: TonAuthorization): Sent | undefined => {
  const order = JettonTransfer.toCell(transfer)
  return sent.find(({ body, to }) => to === jettonWallet && body.equals(order))
}

/**
 * Follows a transfer from the transaction of the payer's wallet that carried the request out. A step counts only when the
 * very message of the step before caused it: same sender, same logical time, same body, and not earlier. A node that shows
 * another transaction, such as a genuine credit of another payment, counts as unavailable.
 */
export const follow = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  authorization: TonAuthorization,
  recipient: TonAddress.Address,
  walletTransaction: TonTransaction
): Effect.fn.Return<TonTransferEvidence, ChainUnavailable> {
  const { jettonWallet, payer, transfer } = authorization
  const order = orderIn(walletTransaction, authorization)
  if (order === undefined) return stopped(walletTransaction, payer, notSent)
  const debit = yield* resultOf(rpc, walletTransaction, payer, order, jettonWallet)
  if (debit === undefined) return pending
  if (!debit.isCarriedOut) return stopped(debit, payer, refused(debit.exitCode))
  const sent = debit.sent.find(({ body, to }) => to === recipient && isCredit(body, authorization))
  if (sent === undefined) return stopped(debit, payer, notSent)
  const credit = yield* resultOf(rpc, debit, jettonWallet, sent, recipient)
  if (credit === undefined) return pending
  return credit.isCarriedOut ? { _tag: "Credited", credit } : stopped(credit, transfer.to, bounced)
})

/** The transaction that a message of `before` caused. */
const resultOf = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  before: TonTransaction,
  source: TonAddress.Address,
  { body, createdLt }: Sent,
  destination: TonAddress.Address
): Effect.fn.Return<TonTransaction | undefined, ChainUnavailable> {
  const found = yield* rpc.result(source, destination, createdLt)
  if (found === undefined) return undefined
  const isIt =
    isResult(found, source, destination, createdLt) &&
    found.cause?.body.equals(body) === true &&
    found.lt > createdLt &&
    createdLt > before.lt
  if (isIt) return found
  const message = `the node showed ${found.hash} for a message from ${source} to ${destination} that did not cause it`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})

const isCredit = (body: Sent["body"], { transfer }: TonAuthorization): boolean =>
  TonBoc.attempt(() => JettonTransfer.isCredit(body, transfer)) ?? false

const stopped = (
  at: TonTransaction,
  culprit: TonAddress.Address,
  error: PaymentError | ValidationError
): TonTransferEvidence => ({ _tag: "Stopped", at, culprit, error })

const notSent = invalid(
  "unsupported_authorization",
  "not_sent",
  "the payer's wallet took the request and sent nothing on; sign a new payment"
)

const bounced = refuse(
  "INVALID_RECIPIENT",
  "bounced",
  "the recipient's Jetton wallet did not take the payment, and the money is back at the payer's"
)

const refused = (exitCode: number) =>
  refuse(
    "INSUFFICIENT_BALANCE",
    "transfer_refused",
    `the payer's Jetton wallet refused the transfer with the exit code ${exitCode}; sign a new payment`
  )
