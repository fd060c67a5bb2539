/**
 * Blocks of the local chain. Their header is invented beyond number, time and parent; the id is built as TRON builds it: eight
 * bytes of number, then a hash. The chain id is the end of the first block's id.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"

import type { NodeTransaction } from "../node/NodeTransaction.ts"
import type { ExecutionReceipt } from "./ExecutionReceipt.ts"

/** An executed transaction and its receipt. */
export interface Executed {
  readonly transaction: NodeTransaction
  readonly receipt: ExecutionReceipt
}

/** A block. */
export interface DevBlock {
  /** 32 bytes in hexadecimal. */
  readonly id: string
  readonly parentId: string
  readonly number: number
  /** Unix milliseconds. */
  readonly timestamp: number
  readonly transactions: ReadonlyArray<Executed>
}

const noParent = "00".repeat(32)

const idOf = (number: number, hash: string) => `${number.toString(16).padStart(16, "0")}${hash.slice(16)}`

/** The first block. */
export const genesis = (chainId: number, timestamp: number): DevBlock => {
  const hash = bytesToHex(sha256(new TextEncoder().encode(`genesis ${timestamp}`)))
  const id = idOf(0, `${hash.slice(0, 56)}${chainId.toString(16).padStart(8, "0")}`)
  return { id, parentId: noParent, number: 0, timestamp, transactions: [] }
}

/** The block after another. `fork` gives otherwise equal blocks distinct ids. */
export const after = (
  parent: DevBlock,
  timestamp: number,
  transactions: ReadonlyArray<Executed>,
  fork: number
): DevBlock => {
  const number = parent.number + 1
  const ids = transactions.map(({ transaction }) => transaction.id).join("")
  const content = new TextEncoder().encode(`${parent.id} ${timestamp} ${fork} ${ids}`)
  return { id: idOf(number, bytesToHex(sha256(content))), parentId: parent.id, number, timestamp, transactions }
}

/** A transaction's reference to a block: the number's last two bytes, and eight bytes of the id. */
export const referenceOf = ({ id }: DevBlock): { readonly bytes: string; readonly hash: string } => ({
  bytes: id.slice(12, 16),
  hash: id.slice(16, 32)
})

/** The witness of all blocks, an address without a key. */
export const witness = `41${"00".repeat(20)}`
