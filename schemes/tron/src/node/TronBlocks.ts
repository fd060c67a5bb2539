/** The requests for blocks, the only ones that a payer needs. */
import { type ChainUnavailable, Shape } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TronHttp from "./TronHttp.ts"
import * as TronRequest from "./TronRequest.ts"

/** A block, as far as it is read. */
export interface Block {
  readonly number: bigint
  /** 64 digits; the first 16 are the number. */
  readonly id: string
  /** Unix milliseconds. */
  readonly time: bigint
}

/** The requests. */
export interface TronBlocks {
  /** A block by its number; `undefined` if there is none. */
  readonly block: (number: bigint) => Effect.Effect<Block | undefined, ChainUnavailable>
  /** The newest block. */
  readonly head: Effect.Effect<Block, ChainUnavailable>
  /** The newest solidified block, which is never dropped. */
  readonly solid: Effect.Effect<Block, ChainUnavailable>
}

interface Header {
  readonly number: bigint
  readonly timestamp: bigint
}

interface BlockResponse {
  readonly blockID?: string
  readonly block_header?: { readonly raw_data: Header }
}

/** Shapes, as a payer reads blocks too: they decode as `TronHex.Bytes32` and `TronRequest.OrZero` do. */
const makeResponse = () => {
  const id = Shape.matching("64 hexadecimal digits", /^[0-9a-fA-F]{64}$/)
  const whole = Shape.guarded("a whole number", (value): value is number => Number.isInteger(value))
  const orZero = Shape.converted(Shape.optional(whole), (number) => BigInt(number ?? 0))
  const header = Shape.struct<Header>({ number: orZero, timestamp: orZero })
  return Shape.struct<BlockResponse>({
    blockID: Shape.optional(Shape.converted(id, (text) => text.toLowerCase())),
    block_header: Shape.optional(Shape.struct<{ readonly raw_data: Header }>({ raw_data: header }))
  })
}

const response = /* @__PURE__ */ makeResponse()

const decode: TronRequest.Decode<BlockResponse> = (json) => Shape.read(response, json)

const read = ({ blockID, block_header }: BlockResponse): Block | undefined | TronRequest.InvalidResponse => {
  if (blockID === undefined || block_header === undefined) return undefined
  const { number, timestamp } = block_header.raw_data
  return BigInt(`0x${blockID.slice(0, 16)}`) === number
    ? { number, id: blockID, time: timestamp }
    : new TronRequest.InvalidResponse(`the block ${number} with the id of another`)
}

/** Makes the requests to one node; sends none yet. */
export const make = (node: TronHttp.TronNode): TronBlocks => {
  const request = TronRequest.make(node, decode, read)
  const newest = (path: string) =>
    Effect.flatMap(request(path, { detail: false }), (found) =>
      found === undefined ? TronRequest.invalid(node, path, "no block") : Effect.succeed(found)
    )
  return {
    block: (number) =>
      Effect.flatMap(request("wallet/getblock", { id_or_num: `${number}`, detail: false }), (found) =>
        found === undefined || found.number === number
          ? Effect.succeed(found)
          : TronRequest.invalid(node, "wallet/getblock", "another block")
      ),
    head: newest("wallet/getblock"),
    solid: newest("walletsolidity/getblock")
  }
}

/** A transaction's reference to a block: the low 16 bits of its number, and bytes 8 to 16 of its id. */
export const referenceTo = ({ id, number }: Block) => ({
  refBlockBytes: (number & 0xffffn).toString(16).padStart(4, "0"),
  refBlockHash: id.slice(16, 32)
})
