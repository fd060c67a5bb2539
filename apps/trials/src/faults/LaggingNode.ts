/**
 * A lagging node, made of one that is not: requests for the newest block are sent for an older one, and the blocks in between
 * are unknown.
 */
import type { JsonRpcRelay } from "@pontage/evm/testing"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { Quantity, toQuantity } from "../world/ChainRpc.ts"

type RelayedRequest = JsonRpcRelay.RelayedRequest

/** The question as the node that is behind understands it; its newest block has this number. */
export const questionAt = (question: RelayedRequest, head: bigint): RelayedRequest => {
  const { method, params } = question
  const at = tagPlace[method]
  if (method === "eth_getLogs") return { ...question, params: [clampFilter(params[0], head)] }
  return at === undefined ? question : { ...question, params: params.with(at, clampTag(params[at], head)) }
}

/** The response as the lagging node gives it. */
export const answerAt = ({ method, params }: RelayedRequest, result: unknown, head: bigint): unknown => {
  if (method === "eth_blockNumber") return toQuantity(head)
  if (method === "eth_getBlockByNumber") return isAbove(decodeNumber(params[0]), head) ? null : result
  if (method !== "eth_getTransactionReceipt") return result
  return isAbove(
    Option.map(decodeReceipt(result), ({ blockNumber }) => blockNumber),
    head
  )
    ? null
    : result
}

/** Where a method's parameters say which block is meant. */
const tagPlace: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_getBalance: 1,
  eth_getBlockByNumber: 0,
  eth_getTransactionCount: 1
}

const decodeNumber = Schema.decodeUnknownOption(Quantity)
const decodeReceipt = Schema.decodeUnknownOption(Schema.Struct({ blockNumber: Quantity }))
const decodeFilter = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.Unknown))

const isAbove = (found: Option.Option<bigint>, head: bigint): boolean => Option.isSome(found) && found.value > head

const clampTag = (tag: unknown, head: bigint): unknown =>
  tag === undefined || tag === "latest" || tag === "pending" ? toQuantity(head) : tag

const clampFilter = (filter: unknown, head: bigint): unknown => {
  const fields = Option.getOrElse(decodeFilter(filter), () => ({}))
  const toBlock = "toBlock" in fields ? clampTag(fields["toBlock"], head) : toQuantity(head)
  const beyond = isAbove(decodeNumber(toBlock), head)
  return { ...fields, toBlock: beyond ? toQuantity(head) : toBlock }
}
