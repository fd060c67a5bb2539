/**
 * A node of the ledger in memory: what it knows is what the ledger was some blocks ago, and what it does with what it is told
 * depends on its day.
 */
import type { TestLedger } from "@pontage/core/testing"

import type { ChainTrouble } from "./SimulatedChain.ts"

/** A node's condition. Instants are true Unix milliseconds. */
export interface SimulatedLedgerNode {
  downUntil: number
  muteUntil: number
  dropsUntil: number
  lagsUntil: number
  blocks: number
}

/** A node in good health. */
export const make = (): SimulatedLedgerNode => ({ downUntil: 0, muteUntil: 0, dropsUntil: 0, lagsUntil: 0, blocks: 0 })

/** Ends its troubles. */
export const mend = (node: SimulatedLedgerNode): void => void Object.assign(node, make())

export const isDown = ({ downUntil }: SimulatedLedgerNode, now: number): boolean => now < downUntil

export const isMute = ({ muteUntil }: SimulatedLedgerNode, now: number): boolean => now < muteUntil

/** Brings a trouble upon it. */
export const trouble = (
  node: SimulatedLedgerNode,
  one: Extract<ChainTrouble, { readonly _tag: "NodeDown" | "NodeLags" | "ResponsesLost" | "SendsDropped" }>,
  now: number
): void => {
  const until = now + one.millis
  if (one._tag === "NodeDown") node.downUntil = until
  else if (one._tag === "ResponsesLost") node.muteUntil = until
  else if (one._tag === "SendsDropped") node.dropsUntil = until
  else Object.assign(node, { lagsUntil: until, blocks: one.blocks })
}

/** The ledger as this node knows it. Time does not go on by being asked. */
export const view = (
  ledger: TestLedger.TestLedger,
  node: SimulatedLedgerNode,
  time: { readonly now: () => number }
): TestLedger.TestLedger => {
  const lag = () => (time.now() < node.lagsUntil ? node.blocks : 0)
  return Object.assign(seen(ledger, lag), {
    submit: (transaction: TestLedger.LedgerTransaction) =>
      time.now() < node.dropsUntil ? ("accepted" as const) : ledger.submit(transaction)
  })
}

/** The ledger as seen by a node that is a number of blocks behind. */
export const behind = (ledger: TestLedger.TestLedger, blocks: number): TestLedger.TestLedger =>
  seen(ledger, () => blocks)

const seen = (ledger: TestLedger.TestLedger, lag: () => number): TestLedger.TestLedger => {
  const at = (depth: number) => {
    const { finality } = ledger
    ledger.finality = depth
    const block = ledger.final()
    ledger.finality = finality
    return block
  }
  const head = () => (lag() === 0 ? ledger.head() : at(lag()))
  const isSeen = ({ number }: { readonly number: bigint }) => lag() === 0 || number <= head().number
  const later = () => (lag() === 0 ? [] : ledger.transfers.filter((one) => !isSeen(blockOf(ledger, one))))
  return {
    ...ledger,
    tick: () => undefined,
    head,
    final: () => at(ledger.finality + lag()),
    isCanonical: (block) => isSeen(block) && ledger.isCanonical(block),
    useOf: (order) => {
      const use = ledger.useOf(order)
      return use !== undefined && isSeen(use.block) ? use : undefined
    },
    receipt: (transaction) => {
      const receipt = ledger.receipt(transaction)
      return receipt !== undefined && isSeen(receipt.block) ? receipt : undefined
    },
    balanceOf: (account) =>
      later().reduce((sum, { amount, payTo, payer }) => {
        if (payer === account) return sum + amount
        return payTo === account ? sum - amount : sum
      }, ledger.balanceOf(account)),
    nextSlot: (lane, counting = "known") => {
      if (counting === "known" || lag() === 0) return ledger.nextSlot(lane, counting)
      const unseen = new Set(
        ledger.submissions.flatMap((one) => {
          const receipt = one.lane === lane && one.slot !== undefined ? ledger.receipt(one.id) : undefined
          return receipt !== undefined && !isSeen(receipt.block) ? [one.slot] : []
        })
      )
      return ledger.nextSlot(lane, counting) - BigInt(unseen.size)
    }
  }
}

const blockOf = (ledger: TestLedger.TestLedger, order: TestLedger.LedgerOrder) =>
  ledger.useOf(order)?.block ?? { number: 0n }
