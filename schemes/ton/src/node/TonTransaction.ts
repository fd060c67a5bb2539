/**
 * A transaction of an account, as far as it shows what became of a message: which one came in, whether it was carried out,
 * and which went out.
 */
import { type Cell, loadTransaction, type Message, type Transaction } from "@ton/core"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonMessage from "../primitives/TonMessage.ts"

/** A message that a transaction sent. */
export interface Sent {
  readonly to: TonAddress.Address | undefined
  readonly value: bigint
  /** Logical time, by which its own transaction is found. */
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
  /** What came in: from whom (nobody is outside of the chain), when it was sent, and with how much. */
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
  /** Whether the contract took the message and its actions were carried out. */
  readonly isCarriedOut: boolean
  /** The exit code of the contract, or of its actions; 0 where it was carried out, -1 where there is no contract. */
  readonly exitCode: number
  readonly sent: ReadonlyArray<Sent>
  /** What the transaction took from the account beyond what it was sent, in nanotons. */
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

/** Reads a transaction; throws when the cell holds none. */
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
 * Whether a transaction was caused by the one message that this source sent to this destination at this logical time. A
 * source gives each of its messages a time of its own.
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
 * Whether transactions are the newest ones of an account in their order without a gap, the first of them this one: each
 * names the hash of the one before it.
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
 * The hash of the external message that made an account act, in hexadecimal: the name of all that followed from it. Where
 * it acted on something else, its own.
 */
export const originOf = (account: TonAddress.Address, { cause, hash }: TonTransaction): string =>
  cause?.isExternal === true ? TonMessage.externalHash(account, cause.body) : hash
