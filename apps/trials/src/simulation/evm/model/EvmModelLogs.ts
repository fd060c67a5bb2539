/**
 * `eth_getLogs` on a modelled chain: by a range of blocks or by one block's hash.
 */
import { EvmAddress, EvmHex } from "@pontage/evm"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { ModelBlock } from "./EvmModelBlock.ts"
import type { ModelPlace } from "./EvmModelChain.ts"
import type { ModelEvent } from "./EvmModelState.ts"
import { blockByHash, type EvmModelView, numberFor } from "./EvmModelView.ts"
import type { NodeRefusal } from "./NodeDialect.ts"

const oneOrMany = <S extends Schema.Constraint>(schema: S) => Schema.Union([schema, Schema.Array(schema)])

const Filter = Schema.Struct({
  address: Schema.optionalKey(oneOrMany(EvmAddress.FromNode)),
  topics: Schema.optionalKey(Schema.Array(Schema.NullOr(oneOrMany(EvmHex.Bytes32)))),
  fromBlock: Schema.optionalKey(Schema.String),
  toBlock: Schema.optionalKey(Schema.String),
  blockHash: Schema.optionalKey(EvmHex.Bytes32)
})
const decodeFilter = Schema.decodeUnknownSync(Filter)

/** Looks for events, oldest first. */
export const find = (view: EvmModelView, parameter: unknown): Result.Result<ReadonlyArray<unknown>, NodeRefusal> => {
  const filter = decodeFilter(parameter)
  return Result.map(blocksOf(view, filter), (blocks) =>
    blocks
      .flatMap((block) =>
        block.mined.flatMap((mined) => inPlace({ block, mined }).filter(({ event }) => fits(filter, event)))
      )
      .map(({ json }) => json)
  )
}

const blocksOf = (
  view: EvmModelView,
  filter: typeof Filter.Type
): Result.Result<ReadonlyArray<ModelBlock>, NodeRefusal> => {
  const { chain, head, logRange } = view
  if (filter.blockHash !== undefined) {
    const block = blockByHash(view, filter.blockHash) ?? orphanOf(view, filter.blockHash)
    return block === undefined ? Result.fail({ _tag: "NoLogsOfHash" }) : Result.succeed([block])
  }
  const { dialect } = chain
  const first = numberFor(view, filter.fromBlock)
  const last = numberFor(view, filter.toBlock)
  if (last < first && dialect.refusesInvertedRange) return Result.fail({ _tag: "RangeInverted" })
  if (first > head.number && dialect.refusesLogsBeyondHead) {
    return Result.fail({ _tag: "NoSuchBlock", head: head.number, asked: first })
  }
  if (logRange !== undefined && last - first >= BigInt(logRange)) {
    return Result.fail({ _tag: "RangeTooWide", most: logRange })
  }
  const blocks: Array<ModelBlock> = []
  for (let number = first; number <= last && number <= head.number; number++) {
    const block = chain.blockAt(head, number)
    if (block !== undefined) blocks.push(block)
  }
  return Result.succeed(blocks)
}

/** A block that has given way, where the node has come as far and tells of such. */
const orphanOf = ({ chain, head }: EvmModelView, hash: EvmHex.Hex): ModelBlock | undefined => {
  const block = chain.dialect.tellsLogsOfOrphans ? chain.blockOf(hash) : undefined
  const isOrphan = block !== undefined && chain.blockAt(chain.head(), block.number) !== block
  return isOrphan && block.number <= head.number ? block : undefined
}

const includes = <A>(wanted: A | ReadonlyArray<A>, found: A | undefined): boolean =>
  found !== undefined && (Array.isArray(wanted) ? wanted.includes(found) : wanted === found)

const fits = ({ address, topics = [] }: typeof Filter.Type, event: ModelEvent): boolean =>
  (address === undefined || includes(address, event.address)) &&
  topics.every((wanted, index) => wanted === null || includes(wanted, event.topics[index]))

/** The events of a transaction with their place in the chain, as they are answered. */
export const inPlace = ({
  block,
  mined
}: ModelPlace): ReadonlyArray<{ readonly event: ModelEvent; readonly json: unknown }> =>
  mined.events.map((event, index) => ({
    event,
    json: {
      ...event,
      blockNumber: EvmHex.toQuantity(block.number),
      blockHash: block.hash,
      transactionHash: mined.transaction.hash,
      transactionIndex: EvmHex.toQuantity(mined.index),
      logIndex: EvmHex.toQuantity(mined.firstLog + index),
      removed: false
    }
  }))
