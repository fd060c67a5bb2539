/** The accounts of a ledger in memory: balances, executed transfers and used authorizations. */
import type { LedgerBlock } from "./LedgerChain.ts"
import type { LedgerOrder, LedgerUse } from "./LedgerTransaction.ts"

/** The accounts. */
export interface LedgerAccounts {
  /** The executed transfers, oldest first. */
  readonly transfers: ReadonlyArray<LedgerOrder & { readonly transaction: string }>
  readonly balanceOf: (account: string) => bigint
  /** Changes a balance outside of any block: it is never taken back. */
  readonly deposit: (account: string, amount: bigint) => void
  readonly useOf: (order: LedgerOrder) => LedgerUse | undefined
  /** Cancels an authorization without a transfer. */
  readonly burn: (order: LedgerOrder, transaction: string, block: LedgerBlock) => void
  /** Executes a transfer; `false` if that is not possible. */
  readonly execute: (order: LedgerOrder, transaction: string, block: LedgerBlock) => boolean
}

/** Makes empty accounts. */
export const make = (): LedgerAccounts => {
  const balances = new Map<string, bigint>()
  const uses = new Map<string, LedgerUse>()
  const transfers: Array<LedgerOrder & { readonly transaction: string }> = []

  const balanceOf = (account: string) => balances.get(account) ?? 0n
  const deposit = (account: string, amount: bigint) => void balances.set(account, balanceOf(account) + amount)
  const use = (order: LedgerOrder, transaction: string, { hash, number, time, undo }: LedgerBlock, paid: boolean) => {
    uses.set(keyOf(order), { transaction, block: { number, hash, time }, paid })
    undo.push(() => uses.delete(keyOf(order)))
  }
  const move = ({ amount, payTo, payer }: LedgerOrder, sign: 1n | -1n) => {
    deposit(payer, -sign * amount)
    deposit(payTo, sign * amount)
  }
  const canBe = (order: LedgerOrder, time: number) =>
    !uses.has(keyOf(order)) &&
    balanceOf(order.payer) >= order.amount &&
    (order.validAfter === 0 || order.validAfter < time) &&
    time < order.validBefore

  return {
    transfers,
    balanceOf,
    deposit,
    useOf: (order) => uses.get(keyOf(order)),
    burn: (order, transaction, block) => use(order, transaction, block, false),
    execute: (order, transaction, block) => {
      if (!canBe(order, block.time)) return false
      use(order, transaction, block, true)
      move(order, 1n)
      const transfer = { ...order, transaction }
      transfers.push(transfer)
      block.undo.push(() => {
        move(order, -1n)
        transfers.splice(transfers.indexOf(transfer), 1)
      })
      return true
    }
  }
}

const keyOf = ({ nonce, payer }: LedgerOrder) => `${payer} ${nonce}`
