/**
 * The transactions of a modelled chain that wait for a block, by their sender and nonce.
 */
import type { EvmAddress, EvmHex } from "@pontage/evm"

import type { ModelTransaction } from "./EvmModelTransaction.ts"
import type { NodeDialect, NodeRefusal } from "./NodeDialect.ts"

/** The state that an incoming transaction is checked against. */
export interface PoolSetting {
  readonly dialect: NodeDialect
  readonly chainId: bigint
  /** Of the account at the head. */
  readonly nonce: bigint
  /** Of the account at the head, in wei. */
  readonly coin: bigint
  /** The least gas that its bytes cost. */
  readonly least: bigint
  readonly blockGas: bigint
  /** Wei. */
  readonly baseFee: bigint
}

/** A pool. */
export interface EvmModelPool {
  /** Takes a transaction, or says why not. */
  readonly offer: (transaction: ModelTransaction, setting: PoolSetting) => NodeRefusal | undefined
  /** Puts a transaction back that was in a block, whatever it offers; one that waits in its place stays. */
  readonly restore: (transaction: ModelTransaction) => void
  readonly drop: (hash: EvmHex.Hex) => void
  readonly clear: () => void
  /** The transaction of an account with this nonce. */
  readonly at: (account: EvmAddress.Address, nonce: bigint) => ModelTransaction | undefined
  readonly has: (hash: EvmHex.Hex) => boolean
  /** Seconds since 1970 at which a transaction was first heard of. */
  readonly heardAt: (hash: EvmHex.Hex) => bigint | undefined
  /** The nonce behind those that wait without a gap from this one on. */
  readonly behind: (account: EvmAddress.Address, nonce: bigint) => bigint
  /** All that wait, in the order in which they came. */
  readonly all: () => ReadonlyArray<ModelTransaction>
}

const placeOf = (account: string, nonce: bigint): string => `${account} ${nonce}`

/** An empty pool; `now` is the present time in seconds since 1970. */
export const make = (now: () => bigint): EvmModelPool => {
  const waiting = new Map<string, ModelTransaction>()
  const heard = new Map<EvmHex.Hex, bigint>()
  const put = (transaction: ModelTransaction) => {
    if (!heard.has(transaction.hash)) heard.set(transaction.hash, now())
    const place = placeOf(transaction.from, transaction.nonce)
    waiting.delete(place)
    waiting.set(place, transaction)
  }
  const at: EvmModelPool["at"] = (account, nonce) => waiting.get(placeOf(account, nonce))
  return {
    at,
    offer: (transaction, setting) => {
      const older = at(transaction.from, transaction.nonce)
      const refusal = flawOf(transaction, older, setting)
      if (refusal === undefined) put(transaction)
      return refusal
    },
    restore: (transaction) => {
      if (at(transaction.from, transaction.nonce) === undefined) put(transaction)
    },
    drop: (hash) => {
      for (const [place, transaction] of waiting) if (transaction.hash === hash) waiting.delete(place)
    },
    clear: () => waiting.clear(),
    heardAt: (hash) => heard.get(hash),
    has: (hash) => [...waiting.values()].some((transaction) => transaction.hash === hash),
    behind: (account, nonce) => {
      let next = nonce
      while (at(account, next) !== undefined) next++
      return next
    },
    all: () => [...waiting.values()]
  }
}

const flawOf = (
  transaction: ModelTransaction,
  older: ModelTransaction | undefined,
  { baseFee, blockGas, chainId, coin, dialect, least, nonce }: PoolSetting
): NodeRefusal | undefined => {
  if (transaction.chainId !== chainId) return { _tag: "WrongChain" }
  if (transaction.nonce < nonce) return { _tag: "NonceTooLow", next: nonce, given: transaction.nonce }
  if (transaction.gas < least) return { _tag: "GasTooLow" }
  if (transaction.gas > blockGas) return { _tag: "GasTooHigh" }
  if (!dialect.cheapWaits && transaction.maximum < baseFee) return { _tag: "FeeBelowBase" }
  if (older?.hash === transaction.hash) return { _tag: "AlreadyKnown" }
  const cost = transaction.gas * transaction.maximum + transaction.value
  if (coin < cost) return { _tag: "InsufficientFunds", balance: coin, cost }
  if (older !== undefined && !dialect.replaces(older, transaction)) return { _tag: "ReplacementUnderpriced" }
  return undefined
}
