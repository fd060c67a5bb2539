/**
 * Evidence of transfers: events and receipts that show whether an authorization moved the money. The token logs
 * `AuthorizationUsed(payer, nonce)` and, right behind it, the `Transfer` of the amount to the recipient (EIP-3009). A
 * receipt's status proves nothing, and neither does the state of the nonce: the payer can burn it with another transfer or
 * cancel it.
 */
import {
  type ChainUnavailable,
  invalid,
  type OwnTransfer,
  type PaymentError,
  type PaymentObservation,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as PermitCall from "../transfer/PermitCall.ts"
import * as UserOperation from "../transfer/UserOperation.ts"
import * as PermitEvidence from "./PermitEvidence.ts"
import * as UserOperationEvidence from "./UserOperationEvidence.ts"

/** The transfer to prove. */
export interface ExpectedTransfer {
  readonly token: EvmAddress.Address
  readonly authorization: Eip3009.TransferWithAuthorization
  /** The user operation that makes it; the authorization has its terms then, and the token knows nothing of it. */
  readonly operation?: UserOperationEvidence.ExpectedOperation | undefined
  /** The transfer by Permit2 that it is; the token knows nothing of its nonce either. */
  readonly permit?: Permit2.PermitTransfer | undefined
  /** Whether its recipient is the router, which has to show that it has sent the money on. */
  readonly isRouted?: boolean
}

/** Whether the nonce may be used up without an event that shows it. */
export const isSilent = ({ operation, permit }: ExpectedTransfer): boolean =>
  operation !== undefined || permit !== undefined

/**
 * An authorization whose end is looked for, and the head of the chain when a transaction was first prepared for it: an end
 * in a block up to that head is older, and not of this payment.
 */
export interface SoughtEnd {
  readonly expected: ExpectedTransfer
  readonly since: bigint
}

/** The same for a payment on record, and the transfers that count as its own. */
export interface SoughtAuthorization extends SoughtEnd {
  /** Whether a transfer in this block is the payment's own; `byUs` if one of our signers has sent it. */
  readonly isOwn: (block: OwnTransfer.TimedBlock, byUs: boolean) => boolean
  /** Whether one of our signers has sent this transaction, in a block of this time, since the payment's record was made. */
  readonly isOurs: (sender: EvmAddress.Address | undefined, time: number) => boolean
  /** Unix seconds by the chain's clock since when the payment is on record; for a payment without a transaction. */
  readonly earliest?: number
}

/**
 * A log filter for the two events that end an authorization, its use and its cancellation, for several authorizations at
 * once. It passes more than it names: check each log with {@link isEnding}.
 */
export const endings = (sought: ReadonlyArray<ExpectedTransfer>): EvmRpc.LogFilter => {
  const operations = sought.flatMap(({ operation }) => operation ?? [])
  const permits = sought.flatMap(({ permit }) => permit ?? [])
  if (operations.length === 0 && permits.length === 0) return endingsOfAuthorizations(sought)
  if (operations.length === sought.length) return endingsOfOperations(operations)
  if (permits.length === sought.length) return endingsOfPermits(permits)
  const addresses = [...operations.map(({ entryPoint }) => entryPoint), ...sought.map(({ token }) => token)]
  const names: ReadonlyArray<EvmHex.Hex> = [
    Eip3009.authorizationUsedTopic,
    Eip3009.authorizationCanceledTopic,
    UserOperation.operationTopic
  ]
  return permits.length === 0
    ? { address: distinct(addresses), topics: [names] }
    : {
        address: distinct([...addresses, Permit2.address, PermitCall.settler]),
        topics: [[...names, ...permitTopics]]
      }
}

const endingsOfAuthorizations = (sought: ReadonlyArray<ExpectedTransfer>): EvmRpc.LogFilter => ({
  address: distinct(sought.map(({ token }) => token)),
  topics: [
    [Eip3009.authorizationUsedTopic, Eip3009.authorizationCanceledTopic],
    distinct(sought.map(({ authorization }) => Eip3009.addressTopic(authorization.from))),
    distinct(sought.map(({ authorization }) => authorization.nonce))
  ]
})

/** The nonce is no topic of an operation's event: the filter passes all operations of the senders. */
const endingsOfOperations = (sought: ReadonlyArray<UserOperationEvidence.ExpectedOperation>): EvmRpc.LogFilter => ({
  address: distinct(sought.map(({ entryPoint }) => entryPoint)),
  topics: [UserOperation.operationTopic, null, distinct(sought.map(({ sender }) => Eip3009.addressTopic(sender)))]
})

const permitTopics: ReadonlyArray<EvmHex.Hex> = [
  Eip3009.transferTopic,
  Permit2.invalidationTopic,
  PermitCall.submittedTopic
]

/** The payer is the first topic of all three events behind their names. */
const endingsOfPermits = (sought: ReadonlyArray<Permit2.PermitTransfer>): EvmRpc.LogFilter => ({
  address: distinct([Permit2.address, PermitCall.settler, ...sought.map(({ permitted }) => permitted.token)]),
  topics: [permitTopics, distinct(sought.map(({ from }) => Eip3009.addressTopic(from)))]
})

const distinct = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(values)]

/**
 * Whether a log ends this authorization. The transfer of a permit does only if its transaction submits it
 * (`EvmAuthorizationSearch`): its log has no nonce.
 */
export const isEnding = (expected: ExpectedTransfer, log: EvmRpc.Log): boolean => {
  const { operation, permit } = expected
  if (operation !== undefined) return UserOperationEvidence.isEnding(operation, log)
  if (permit !== undefined) {
    return (
      PermitEvidence.isTransfer(permit, log) ||
      PermitEvidence.isSubmission(permit, log) ||
      PermitEvidence.isInvalidation(permit, log)
    )
  }
  return isOf(expected, log) && (log.topics[0] === Eip3009.authorizationUsedTopic || isCancellation(log.topics))
}

/** Whether topics are those of a cancellation. */
export const isCancellation = ([event]: EvmRpc.Event["topics"]): boolean =>
  event === Eip3009.authorizationCanceledTopic || event === Permit2.invalidationTopic

/** The uses of authorizations in the logs of one transaction, by nonce, for any payer and token; and the logs themselves. */
export interface LoggedUses {
  readonly byNonce: ReadonlyMap<EvmHex.Hex, ReadonlyArray<LoggedUse>>
  readonly logs: ReadonlyArray<EvmRpc.Event>
  /** Whether the transaction calls x402's proxy itself, with the one transfer that it is judged for. */
  readonly isDirect: boolean
}

/** A use, and the log right behind it. */
interface LoggedUse {
  readonly use: EvmRpc.Event
  readonly next: EvmRpc.Event | undefined
}

/** Reads the logs of one transaction, once for all payments that {@link judge} decides by them. */
export const usesIn = (logs: ReadonlyArray<EvmRpc.Event>, isDirect = false): LoggedUses => {
  const uses = new Map<EvmHex.Hex, Array<LoggedUse>>()
  for (const [place, use] of logs.entries()) {
    const [event, , nonce] = use.topics
    if (event !== Eip3009.authorizationUsedTopic || nonce === undefined) continue
    const others = uses.get(nonce) ?? []
    others.push({ use, next: logs[place + 1] })
    uses.set(nonce, others)
  }
  return { byNonce: uses, logs, isDirect }
}

/**
 * The result for one payment: `paid` exactly as expected, `burnt` by another transfer, `failed` by an operation without the
 * transfer, or `absent` from the logs.
 */
export const judge = (
  expected: ExpectedTransfer,
  { byNonce, isDirect, logs }: LoggedUses
): UserOperationEvidence.OperationVerdict => {
  const { authorization, isRouted = false, operation, permit, token } = expected
  if (permit !== undefined) {
    if (PermitEvidence.isPaid(permit, logs, isDirect)) return "paid"
    return logs.some((log) => PermitEvidence.isSubmission(permit, log)) ? "burnt" : "absent"
  }
  if (operation !== undefined) {
    const { to, value } = authorization
    return UserOperationEvidence.judge(operation, { token, to, value }, logs)
  }
  const found = byNonce.get(expected.authorization.nonce)?.find(({ use }) => isOf(expected, use))
  if (found === undefined) return "absent"
  const isPaid = found.next !== undefined && isTransfer(expected, found.next)
  return isPaid && (!isRouted || BridgeRoute.messageIn(authorization, logs) !== undefined) ? "paid" : "burnt"
}

const isOf = ({ authorization, token }: ExpectedTransfer, { address, topics }: EvmRpc.Event): boolean =>
  address === token && topics[1] === Eip3009.addressTopic(authorization.from) && topics[2] === authorization.nonce

const isTransfer = ({ authorization, token }: ExpectedTransfer, { address, data, topics }: EvmRpc.Event): boolean =>
  address === token &&
  topics[0] === Eip3009.transferTopic &&
  topics[1] === Eip3009.addressTopic(authorization.from) &&
  topics[2] === Eip3009.addressTopic(authorization.to) &&
  EvmHex.isBytes32(data) &&
  BigInt(data) === authorization.value

/** A receipt, and the time of its block in Unix seconds. */
export interface TimedReceipt extends EvmRpc.Receipt {
  readonly time: number
}

/**
 * The receipt of a transaction whose block is part of the chain; else `undefined`. A node that lags, has followed another
 * branch, or lies, may show the receipt of another block: that proves nothing.
 */
export const canonicalReceipt = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  transaction: EvmHex.Hex
): Effect.fn.Return<TimedReceipt | undefined, ChainUnavailable> {
  const found = yield* rpc.getTransactionReceipt(transaction)
  if (found === undefined) return undefined
  const block = yield* rpc.getBlock(found.blockNumber)
  return block?.hash === found.blockHash ? { ...found, time: Number(block.timestamp) } : undefined
})

/**
 * Makes a function that reads the observation of a payment from the event that ended its authorization. Several payments may
 * have ended in one transaction: the function requests its receipt once.
 */
export const reader = (rpc: EvmRpc.Shape) => {
  const receipts = new Map<EvmHex.Hex, TimedReceipt | undefined>()
  const receiptOf = Effect.fnUntraced(function* (hash: EvmHex.Hex) {
    if (!receipts.has(hash)) receipts.set(hash, yield* canonicalReceipt(rpc, hash))
    return receipts.get(hash)
  })
  return Effect.fnUntraced(function* (
    { expected, isOurs }: Pick<SoughtAuthorization, "expected" | "isOurs">,
    end: EvmRpc.Log
  ): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
    const { transactionHash } = end
    if (isCancellation(end.topics)) return failed(transactionHash, canceled(transactionHash))
    const receipt = yield* receiptOf(transactionHash)
    if (receipt === undefined) return { _tag: "Pending" }
    // The search passes the token's event of a permit only where the transaction calls the proxy.
    const isDirect = end.address !== PermitCall.settler
    switch (judge(expected, usesIn(receipt.logs, isDirect))) {
      case "paid":
        return settled(receipt, !isOurs(receipt.from, receipt.time))
      case "burnt":
        return failed(transactionHash, burnt(transactionHash))
      case "failed":
        return failed(transactionHash, operationFailure(expected, receipt))
      case "absent":
        // A receipt that lacks an event of its block is wrong: it proves nothing, good or bad.
        return { _tag: "Pending" }
    }
  })
}

/**
 * The observation of a payment whose authorization ended in a block up to `since`: a stranger may have submitted it after it was
 * taken in, or a reorganisation has put our own transaction there. `undefined` where the end was not the payment's own transfer; a
 * node that does not show the transfer's receipt or block is `ChainUnavailable`.
 */
export const ownTransfer = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: SoughtAuthorization,
  end: EvmRpc.Log | undefined
): Effect.fn.Return<PaymentObservation | undefined, ChainUnavailable> {
  if (end === undefined) return undefined
  const seen = yield* reader(rpc)(sought, end)
  if (seen._tag === "Failed") return undefined
  const block = seen._tag === "Settled" ? yield* rpc.getBlock(seen.block.number) : undefined
  if (seen._tag !== "Settled" || block?.hash !== seen.block.hash)
    return yield* EvmRpc.unknownBlock(rpc, end.blockNumber)
  return sought.isOwn({ number: block.number, time: Number(block.timestamp) }, !seen.external) ? seen : undefined
})

/** The payment was made in this transaction; `external` where none of our signers has sent it. */
export const settled = (
  { blockHash, blockNumber, transactionHash }: EvmRpc.Receipt,
  external: boolean
): Extract<PaymentObservation, { readonly _tag: "Settled" }> => ({
  _tag: "Settled",
  transaction: transactionHash,
  block: { number: blockNumber, hash: blockHash },
  external
})

/** The payment was not made, as this transaction shows. */
export const failed = (transaction: string, error: PaymentError | ValidationError): PaymentObservation => ({
  _tag: "Failed",
  transaction,
  error
})

/**
 * The reason why an executed operation has not made its transfer. In a block past its validity the payment guard reverts its calls, and
 * the payer is not to blame. The time decides, since the payer's own code returns the data of the revert.
 */
export const operationFailure = (
  { authorization: { validBefore } }: ExpectedTransfer,
  { time }: TimedReceipt
): PaymentError | ValidationError => (BigInt(time) < validBefore ? operationFailed : operationExpired)

const operationExpired = refuse(
  "EXPIRED_PAYMENT",
  "operation_expired",
  "the user operation was included past the end of its validity and has not made its transfer, and its nonce is used; sign a new payment"
)

/** The account's own code has executed the operation, and has not made its transfer. */
const operationFailed = invalid(
  "unsupported_authorization",
  "operation_failed",
  "the user operation was executed and has not made its transfer, and its nonce is used; sign a new payment"
)

/** The sender has used the operation's nonce up without another operation. */
const operationBurnt = invalid(
  "unsupported_authorization",
  "operation_nonce_burnt",
  "the payer's account has used the user operation's nonce up before the operation was included; sign a new payment"
)

/** The payer has signed another transfer under the nonce, or another contract than the proxy has submitted this one. */
const permitBurnt = invalid(
  "unsupported_authorization",
  "permit_nonce_burnt",
  "the nonce of the transfer by Permit2 is used up, and no transaction shows this payment; another contract may have made the transfer: look on the chain whether the recipient has the money before you sign a new one"
)

/** The nonce was used up without an event that shows it. */
export const nonceBurnt = ({ permit }: ExpectedTransfer): ValidationError =>
  permit === undefined ? operationBurnt : permitBurnt

/** Another transfer has used up the authorization. */
export const burnt = (transaction: string): ValidationError =>
  invalid(
    "already_used",
    transaction,
    `the authorization's nonce was used in ${transaction} for something else than this payment`
  )

/** A transfer that is not the payment's own used the authorization before a transaction was prepared for the payment. */
export const usedBefore = (transaction: string): PaymentObservation =>
  failed(
    transaction,
    invalid("already_used", transaction, `the authorization was used in ${transaction}, before it was claimed here`)
  )

const canceled = (transaction: string) =>
  invalid("already_used", "nonce_canceled", `the payer canceled the authorization in ${transaction}`)
