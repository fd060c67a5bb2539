/**
 * The questions of JSON-RPC to a modelled chain, answered as a node answers them that knows this view of it.
 */
import { EvmAddress, EvmHex } from "@pontage/evm"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { ModelBlock } from "./EvmModelBlock.ts"
import * as EvmModelCalls from "./EvmModelCalls.ts"
import { type ModelPlace, nonceAt } from "./EvmModelChain.ts"
import * as EvmModelLogs from "./EvmModelLogs.ts"
import * as EvmModelState from "./EvmModelState.ts"
import * as EvmModelTransaction from "./EvmModelTransaction.ts"
import { blockByHash, blockFor, type EvmModelView, isBlock } from "./EvmModelView.ts"
import type { NodeRefusal } from "./NodeDialect.ts"

/** A node's response: its result, or its refusal with code and words. */
export type RpcResponse =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

/** The response to a request. An unknown method is refused in the words of a node that does not know it. */
export const respond = (view: EvmModelView, method: string, params: ReadonlyArray<unknown>): RpcResponse => {
  const known = methods[method]
  return known === undefined
    ? { error: { code: -32_601, message: `the method ${method} does not exist/is not available` } }
    : known(view, params)
}

type Method = (view: EvmModelView, params: ReadonlyArray<unknown>) => RpcResponse

const decodeAddress = Schema.decodeUnknownSync(EvmAddress.FromNode)

const quantity = (value: bigint | number): RpcResponse => ({ result: EvmHex.toQuantity(value) })

const refused = ({ chain }: EvmModelView, refusal: NodeRefusal): RpcResponse => ({
  error: chain.dialect.words(refusal)
})

/** A question about the state of a block, the one at this place of the parameters. */
const atBlock =
  (
    place: number,
    ask: (block: ModelBlock, params: ReadonlyArray<unknown>, view: EvmModelView) => RpcResponse
  ): Method =>
  (view, params) => {
    const block = blockFor(view, params[place])
    return isBlock(block) ? ask(block, params, view) : refused(view, block)
  }

const call = atBlock(1, (block, [parameter, , , pretended], view) => {
  const outcome = EvmModelCalls.call(view.chain.world, block, parameter, pretended)
  if (Result.isSuccess(outcome)) return { result: outcome.success }
  if ("_tag" in outcome.failure) return refused(view, outcome.failure)
  const { reverted: data } = outcome.failure
  return { error: { ...view.chain.dialect.revert(wordsIn(data)), data } }
})

const utf8 = new TextDecoder()

/** The words of `Error(string)`. */
const wordsIn = (data: EvmHex.Hex): string | undefined =>
  data.startsWith("0x08c379a0")
    ? utf8.decode(EvmHex.toBytes(`0x${data.slice(138, 138 + 2 * Number.parseInt(data.slice(74, 138), 16))}`))
    : undefined

const count = atBlock(1, (block, [account, tag], { chain }) => {
  const address = decodeAddress(account)
  const mined = nonceAt(block, address)
  if (tag !== "pending") return quantity(mined)
  // Transactions in a block that this node has not seen are still pending here.
  const unseen = nonceAt(chain.head(), address)
  return quantity(chain.pool.behind(address, unseen > mined ? unseen : mined))
})

const send: Method = (view, [bytes]) => {
  const { chain } = view
  const transaction = EvmHex.isHex(bytes) ? EvmModelTransaction.decode(bytes, chain.world.crypto) : undefined
  if (transaction === undefined) return refused(view, { _tag: "Undecodable" })
  const refusal = chain.submit(transaction, view.head)
  return refusal === undefined ? { result: transaction.hash } : refused(view, refusal)
}

const receipt: Method = ({ chain, head }, [hash]) => {
  const place = EvmHex.isBytes32(hash) ? chain.find(head, EvmHex.toLowerCase(hash)) : undefined
  return { result: place === undefined ? null : receiptOf(place) }
}

/** The receipt of a transaction in a block. */
export const receiptOf = ({ block, mined }: ModelPlace): Readonly<Record<string, unknown>> => ({
  type: "0x2",
  status: mined.succeeded ? "0x1" : "0x0",
  transactionHash: mined.transaction.hash,
  transactionIndex: EvmHex.toQuantity(mined.index),
  blockHash: block.hash,
  blockNumber: EvmHex.toQuantity(block.number),
  from: mined.transaction.from,
  to: mined.transaction.to ?? null,
  contractAddress: null,
  gasUsed: EvmHex.toQuantity(mined.gasUsed),
  cumulativeGasUsed: EvmHex.toQuantity(mined.gasSoFar),
  effectiveGasPrice: EvmHex.toQuantity(mined.price),
  logs: EvmModelLogs.inPlace({ block, mined }).map(({ json }) => json)
})

const blockJson = (block: ModelBlock | undefined): RpcResponse => ({
  result:
    block === undefined
      ? null
      : {
          number: EvmHex.toQuantity(block.number),
          hash: block.hash,
          parentHash: block.parent?.hash ?? `0x${"0".repeat(64)}`,
          timestamp: EvmHex.toQuantity(block.time),
          baseFeePerGas: EvmHex.toQuantity(block.baseFee),
          gasUsed: EvmHex.toQuantity(block.gasUsed),
          transactions: block.mined.map(({ transaction }) => transaction.hash)
        }
})

const block: Method = (view, [tag]) => {
  const found = blockFor(view, tag)
  return blockJson(isBlock(found) ? found : undefined)
}

/** Wei: what nodes of quiet chains propose. */
const tip = 1_000_000_000n

const logs: Method = (view, [filter]) =>
  Result.match(EvmModelLogs.find(view, filter), {
    onFailure: (refusal) => refused(view, refusal),
    onSuccess: (result) => ({ result })
  })

const methods: Readonly<Record<string, Method>> = {
  eth_chainId: ({ chain }) => quantity(chain.world.chainId),
  eth_blockNumber: ({ head }) => quantity(head.number),
  eth_getBlockByNumber: block,
  eth_getBlockByHash: (view, [hash]) => blockJson(blockByHash(view, hash)),
  eth_call: call,
  eth_getCode: atBlock(1, (_, [account], { chain }) => ({
    result: chain.world.code.get(decodeAddress(account)) ?? "0x"
  })),
  eth_getBalance: atBlock(1, ({ state }, [account]) =>
    quantity(state.get(EvmModelState.coinOf(decodeAddress(account))) ?? 0n)
  ),
  eth_getTransactionCount: count,
  eth_sendRawTransaction: send,
  eth_getTransactionReceipt: receipt,
  eth_getLogs: logs,
  eth_maxPriorityFeePerGas: () => quantity(tip)
}
