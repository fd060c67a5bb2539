/**
 * A node of a simulated EVM chain, on its good and bad days: what it sees comes late, or it is some blocks behind; it is gone,
 * takes what it is sent and forgets it, or tells receipts that are not so.
 */
import { EvmHex } from "@pontage/evm"

import type { ChainTrouble } from "../world/SimulatedChain.ts"
import * as EvmModelBlock from "./model/EvmModelBlock.ts"
import type { ModelBlock } from "./model/EvmModelBlock.ts"
import type { EvmModelChain } from "./model/EvmModelChain.ts"
import * as EvmModelRpc from "./model/EvmModelRpc.ts"
import type { RpcResponse } from "./model/EvmModelRpc.ts"
import * as EvmModelTransaction from "./model/EvmModelTransaction.ts"
import type { ModelTransaction } from "./model/EvmModelTransaction.ts"
import type { EvmModelView } from "./model/EvmModelView.ts"

/**
 * How a node lies about receipts: ours in a block have failed without a trace; they are in no block; those that wait are in a
 * block that does not exist.
 */
export type ReceiptLie = "failed" | "missing" | "forged"

/** A node's condition. Instants are true Unix milliseconds. */
export interface SimulatedEvmNode {
  /** How late it hears of a block, in milliseconds. */
  readonly delayMillis: number
  downUntil: number
  muteUntil: number
  dropsUntil: number
  lagsUntil: number
  blocks: number
  /** It lies about receipts until then. */
  liesUntil: number
  lie: ReceiptLie
}

const healthy = {
  downUntil: 0,
  muteUntil: 0,
  dropsUntil: 0,
  lagsUntil: 0,
  blocks: 0,
  liesUntil: 0,
  lie: "failed"
} as const

/** A healthy node that hears of blocks with a delay, in milliseconds. */
export const make = (delayMillis: number): SimulatedEvmNode => ({ delayMillis, ...healthy })

/** Ends its troubles. */
export const mend = (node: SimulatedEvmNode): void => void Object.assign(node, healthy)

/** Brings a trouble upon it. */
export const trouble = (
  node: SimulatedEvmNode,
  one: Extract<ChainTrouble, { readonly _tag: "NodeDown" | "NodeLags" | "ResponsesLost" | "SendsDropped" }>,
  now: number
): void => {
  const until = now + one.millis
  if (one._tag === "NodeDown") node.downUntil = until
  else if (one._tag === "ResponsesLost") node.muteUntil = until
  else if (one._tag === "SendsDropped") node.dropsUntil = until
  else Object.assign(node, { lagsUntil: until, blocks: one.blocks })
}

/** The heads of a chain, each from the instant on at which it became the head. */
export type HeadHistory = ReadonlyArray<{ readonly at: number; readonly head: ModelBlock }>

/** The newest block that a node knows. */
export const headOf = (
  { blocks, delayMillis, lagsUntil }: SimulatedEvmNode,
  chain: EvmModelChain,
  history: HeadHistory,
  now: number
): ModelBlock => {
  const heard = history.findLast(({ at }) => at <= now - delayMillis)?.head ?? chain.head()
  const lag = now < lagsUntil ? BigInt(blocks) : 0n
  return chain.blockAt(heard, heard.number - lag) ?? heard
}

/** The response of this node to a request; `undefined` if none comes. */
export const respond = (
  node: SimulatedEvmNode,
  view: EvmModelView,
  now: number,
  method: string,
  params: ReadonlyArray<unknown>
): RpcResponse | undefined => {
  if (now < node.downUntil) return undefined
  const said = saidBy(node, view, now, method, params)
  return now < node.muteUntil ? undefined : said
}

const saidBy = (
  node: SimulatedEvmNode,
  view: EvmModelView,
  now: number,
  method: string,
  params: ReadonlyArray<unknown>
): RpcResponse => {
  if (method === "eth_sendRawTransaction" && now < node.dropsUntil) return forgotten(view, params)
  const said = EvmModelRpc.respond(view, method, params)
  return method === "eth_getTransactionReceipt" && now < node.liesUntil ? lied(node, view, params, said) : said
}

/** The node says that it has taken the transaction. */
const forgotten = ({ chain }: EvmModelView, [bytes]: ReadonlyArray<unknown>): RpcResponse => {
  const transaction = EvmHex.isHex(bytes) ? EvmModelTransaction.decode(bytes, chain.world.crypto) : undefined
  return transaction === undefined
    ? { error: chain.dialect.words({ _tag: "Undecodable" }) }
    : { result: transaction.hash }
}

const lied = (
  { lie }: SimulatedEvmNode,
  view: EvmModelView,
  [hash]: ReadonlyArray<unknown>,
  said: RpcResponse
): RpcResponse => {
  if (lie === "missing") return { result: null }
  if (lie === "failed") {
    return "result" in said && typeof said.result === "object" && said.result !== null
      ? { result: { ...said.result, status: "0x0", logs: [] } }
      : said
  }
  const { chain, head } = view
  const waiting = chain.pool.all().find((one) => one.hash === hash)
  return waiting === undefined ? said : forged(view, waiting, head)
}

/** As if the transaction were in the newest block, with all that it would do there. */
const forged = ({ chain }: EvmModelView, waiting: ModelTransaction, head: ModelBlock): RpcResponse => {
  const invented = EvmModelBlock.begin(chain.world, head.parent ?? head, head.time, head.baseFee)
  invented.include(waiting)
  const block = invented.finish(`0xbad0${waiting.hash.slice(6)}`)
  const [mined] = block.mined
  return { result: mined === undefined ? null : EvmModelRpc.receiptOf({ block, mined }) }
}
