/** The blocks of a ledger in memory, and their reorganisation: each change of a block notes how to undo it. */
import type { Block } from "../../scheme/SchemeFacilitator.ts"

/** A block. `undo` reverts its changes, newest first. */
export interface LedgerBlock extends Block {
  /** Unix seconds. */
  readonly time: number
  readonly undo: Array<() => void>
  /** The signers of its transactions with slots, one entry for each slot. */
  readonly signers: Array<string>
}

/** A chain of blocks; it always has one. */
export interface LedgerChain {
  readonly head: () => LedgerBlock
  /** The block at this depth below the head; the first one if there are fewer. */
  readonly below: (depth: number) => LedgerBlock
  /** This number of newest blocks. */
  readonly newest: (count: number) => ReadonlyArray<LedgerBlock>
  readonly isCanonical: (block: Block) => boolean
  /** Adds an empty block. */
  readonly extend: (time: number) => LedgerBlock
  /** Removes the newest blocks, never the first one; returns them, oldest first. */
  readonly drop: (count: number) => ReadonlyArray<LedgerBlock>
}

/** Makes a chain with its first block, at time zero. */
export const make = (): LedgerChain => {
  const first: LedgerBlock = { number: 1n, hash: "block-1-0", time: 0, undo: [], signers: [] }
  const blocks = [first]
  let branch = 0
  const below = (depth: number) => blocks[Math.max(0, blocks.length - 1 - depth)] ?? first
  return {
    head: () => below(0),
    below,
    newest: (count) => (count === 0 ? [] : blocks.slice(-count)),
    isCanonical: ({ hash, number }) => blocks[Number(number) - 1]?.hash === hash,
    extend: (time) => {
      const number = BigInt(blocks.length + 1)
      const block = {
        number,
        hash: `block-${number}-${branch}`,
        time: Math.max(time, below(0).time),
        undo: [],
        signers: []
      }
      blocks.push(block)
      return block
    },
    drop: (count) => {
      branch++
      const dropped = blocks.splice(Math.max(1, blocks.length - count))
      for (const { undo } of dropped.toReversed()) for (const step of undo.toReversed()) step()
      return dropped
    }
  }
}
