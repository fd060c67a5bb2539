/**
 * A transaction of an account: the message that came in, whether it was carried out, and the messages that went out.
 */
import { type Cell, loadTransaction, type Message, type Transaction } from "@ton/core"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonMessage from "../primitives/TonMessage.ts"

/** A message that a transaction sent. */
export interface Sent {
  readonly to: TonAddress.Address | undefined
  readonly value: bigint
  /** Logical time; the transaction that it causes is found by it. */
  readonly createdLt: bigint
  readonly body: Cell
}

/** A transaction. */
export interface TonTransaction {
  readonly account: TonAddress.Address
  readonly lt: bigint
  /** Hexadecimal. */
  readonly hash: string
  readonly previous: { readonly lt: bigint; readonly hash: string }
  /** Unix seconds. */
  readonly time: number
  /** The message that came in; `from` is `undefined` for a message from outside of the chain. */
  readonly cause:
    | {
        readonly from: TonAddress.Address | undefined
        readonly createdLt: bigint
        readonly isExternal: boolean
        readonly isBounced: boolean
        readonly value: bigint
        readonly body: Cell
      }
    | undefined
  /** Whether the contract accepted the message and its actions were carried out. */
  readonly isCarriedOut: boolean
  /** The exit code of the contract, or of its actions; 0 for success, -1 for an account without a contract. */
  readonly exitCode: number
  readonly sent: ReadonlyArray<Sent>
  /** TON that the transaction took from the account beyond the value of its message, in nanotons. */
  readonly cost: bigint
}

const addressOf = (address: Parameters<typeof TonAddress.fromCore>[0] | null | undefined) =>
  address ? TonAddress.fromCore(address) : undefined

const sentOf = ({ body, info }: Message): Sent => ({
  to: info.type === "internal" ? addressOf(info.dest) : undefined,
  value: info.type === "internal" ? info.value.coins : 0n,
  createdLt: info.type === "external-in" ? 0n : info.createdLt,
  body
})

const causeOf = ({ inMessage }: Transaction): TonTransaction["cause"] => {
  if (!inMessage || inMessage.info.type === "external-out") return undefined
  const { body, info } = inMessage
  return info.type === "internal"
    ? {
        from: addressOf(info.src),
        createdLt: info.createdLt,
        isExternal: false,
        isBounced: info.bounced,
        value: info.value.coins,
        body
      }
    : { from: undefined, createdLt: 0n, isExternal: true, isBounced: false, value: 0n, body }
}

const endOf = ({ description }: Transaction): Pick<TonTransaction, "isCarriedOut" | "exitCode"> => {
  if (description.type !== "generic") return { isCarriedOut: false, exitCode: -1 }
  const { aborted, actionPhase, computePhase } = description
  if (computePhase.type !== "vm") return { isCarriedOut: false, exitCode: -1 }
  if (!computePhase.success) return { isCarriedOut: false, exitCode: computePhase.exitCode }
  const isDone = !aborted && actionPhase?.success === true
  return { isCarriedOut: isDone, exitCode: isDone ? 0 : (actionPhase?.resultCode ?? -1) }
}

const costOf = ({ outMessages, totalFees }: Transaction, received: bigint): bigint => {
  let cost = totalFees.coins - received
  for (const { info } of outMessages.values()) {
    if (info.type === "internal") cost += info.value.coins + info.forwardFee
  }
  return cost
}

/** Reads a transaction; throws when the cell holds something else. */
export const read = (cell: Cell): TonTransaction => {
  const transaction = loadTransaction(cell.beginParse())
  const cause = causeOf(transaction)
  return {
    account: TonAddress.fromHash(Buffer.from(transaction.address.toString(16).padStart(64, "0"), "hex")),
    lt: transaction.lt,
    hash: cell.hash().toString("hex"),
    previous: {
      lt: transaction.prevTransactionLt,
      hash: transaction.prevTransactionHash.toString(16).padStart(64, "0")
    },
    time: transaction.now,
    cause,
    ...endOf(transaction),
    sent: [...transaction.outMessages.values()].map(sentOf),
    cost: costOf(transaction, cause?.value ?? 0n)
  }
}

/**
 * Whether the one message that this source sent to this destination at this logical time caused a transaction. Each message of a
 * source has a different logical time.
 */
export const isResult = (
  { account, cause }: TonTransaction,
  source: TonAddress.Address,
  destination: TonAddress.Address,
  createdLt: bigint
): boolean =>
  account === destination && cause?.isExternal === false && cause.from === source && cause.createdLt === createdLt

/** Whether a transaction sent the message that this source sent to this destination at this logical time. */
export const isOrigin = (
  { account, sent }: TonTransaction,
  source: TonAddress.Address,
  destination: TonAddress.Address,
  createdLt: bigint
): boolean => account === source && sent.some((one) => one.to === destination && one.createdLt === createdLt)

/**
 * Whether transactions are those of an account from `first` backwards, in their order without a gap: each names the hash of the
 * one before it.
 */
export const isHistory = (
  transactions: ReadonlyArray<TonTransaction>,
  account: TonAddress.Address,
  first: TonTransaction["previous"]
): boolean => {
  let expected = first
  for (const transaction of transactions) {
    const { hash, lt } = transaction
    if (transaction.account !== account || lt !== expected.lt || hash !== expected.hash) return false
    expected = transaction.previous
  }
  return transactions.length > 0
}

/**
 * The hash of the external message that caused a transaction, in hexadecimal: explorers name the whole trace by it. For a
 * transaction with another cause, its own hash.
 */
export const originOf = (account: TonAddress.Address, { cause, hash }: TonTransaction): string =>
  cause?.isExternal === true ? TonMessage.externalHash(account, cause.body) : hash
