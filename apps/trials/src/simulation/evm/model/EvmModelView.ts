/**
 * The knowledge of one node of a modelled chain: the branch up to its newest block, which may be behind the chain's, and the blocks
 * that the tags of JSON-RPC name.
 */
import { EvmHex } from "@pontage/evm"

import type { ModelBlock } from "./EvmModelBlock.ts"
import type { EvmModelChain } from "./EvmModelChain.ts"
import type { NodeRefusal } from "./NodeDialect.ts"

/** A node's view. */
export interface EvmModelView {
  readonly chain: EvmModelChain
  readonly head: ModelBlock
  /** Limit on the blocks of one request for logs; absent for no limit. */
  readonly logRange?: number
  /** Blocks behind the head that `safe` and `finalized` name. */
  readonly depths: { readonly safe: bigint; readonly finalized: bigint }
}

/** The depths of a chain with epochs of 32 blocks. */
export const usualDepths = { safe: 32n, finalized: 64n } as const

/** The block of a tag, a number or, as `{ blockHash }`, a hash. */
export const blockFor = (view: EvmModelView, asked: unknown): ModelBlock | NodeRefusal => {
  if (typeof asked === "object" && asked !== null && "blockHash" in asked) {
    return blockByHash(view, asked.blockHash) ?? { _tag: "NoSuchHash" }
  }
  const number = numberFor(view, asked)
  return view.chain.blockAt(view.head, number) ?? { _tag: "NoSuchBlock", head: view.head.number, asked: number }
}

/** The block of a hash, if it is in the branch. */
export const blockByHash = ({ chain, head }: EvmModelView, hash: unknown): ModelBlock | undefined => {
  const block = EvmHex.isBytes32(hash) ? chain.blockOf(EvmHex.toLowerCase(hash)) : undefined
  return block !== undefined && chain.blockAt(head, block.number) === block ? block : undefined
}

/** The number that a tag names; nothing is the head. */
export const numberFor = ({ depths, head }: EvmModelView, asked: unknown): bigint => {
  if (typeof asked === "string" && asked.startsWith("0x")) return BigInt(asked)
  const depth = asked === "earliest" ? head.number : asked === "safe" || asked === "finalized" ? depths[asked] : 0n
  return head.number > depth ? head.number - depth : 0n
}

/** Whether a block was found. */
export const isBlock = (found: ModelBlock | NodeRefusal): found is ModelBlock => "state" in found
