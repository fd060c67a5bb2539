/**
 * The questions for blocks: all that a payer needs of a node.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronHex from "../primitives/TronHex.ts"
import type * as TronHttp from "./TronHttp.ts"
import * as TronRequest from "./TronRequest.ts"

/** What is read of a block. */
export interface Block {
  readonly number: bigint
  /** 64 digits; the first 16 are the number. */
  readonly id: string
  /** Unix milliseconds. */
  readonly time: bigint
}

/** The questions. */
export interface TronBlocks {
  /** A block by its number; `undefined` where there is no such block. */
  readonly block: (number: bigint) => Effect.Effect<Block | undefined, ChainUnavailable>
  /** The newest block. */
  readonly head: Effect.Effect<Block, ChainUnavailable>
  /** The newest block that is not reorganised any more. */
  readonly solid: Effect.Effect<Block, ChainUnavailable>
}

const makeAnswer = () =>
  Schema.Struct({
    blockID: Schema.optionalKey(TronHex.Bytes32),
    block_header: Schema.optionalKey(
      Schema.Struct({ raw_data: Schema.Struct({ number: TronRequest.OrZero, timestamp: TronRequest.OrZero }) })
    )
  })

const Answer = /* @__PURE__ */ makeAnswer()

const read = ({ blockID, block_header }: typeof Answer.Type): Block | undefined | TronRequest.Nonsense => {
  if (blockID === undefined || block_header === undefined) return undefined
  const { number, timestamp } = block_header.raw_data
  return BigInt(`0x${blockID.slice(0, 16)}`) === number
    ? { number, id: blockID, time: timestamp }
    : new TronRequest.Nonsense(`the block ${number} with the id of another`)
}

/** Makes the questions to one node. Nothing is asked yet. */
export const make = (node: TronHttp.TronNode): TronBlocks => {
  const question = TronRequest.make(node, Answer, read)
  const newest = (path: string) =>
    Effect.flatMap(question(path, { detail: false }), (found) =>
      found === undefined ? TronRequest.odd(node, path, "no block") : Effect.succeed(found)
    )
  return {
    block: (number) =>
      Effect.flatMap(question("wallet/getblock", { id_or_num: `${number}`, detail: false }), (found) =>
        found === undefined || found.number === number
          ? Effect.succeed(found)
          : TronRequest.odd(node, "wallet/getblock", "another block")
      ),
    head: newest("wallet/getblock"),
    solid: newest("walletsolidity/getblock")
  }
}

/** How a transaction refers to a block: the low 16 bits of its number, and bytes 8 to 16 of its id. */
export const referenceTo = ({ id, number }: Block) => ({
  refBlockBytes: (number & 0xffffn).toString(16).padStart(4, "0"),
  refBlockHash: id.slice(16, 32)
})
