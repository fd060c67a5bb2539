/**
 * Two nodes behind one address, of which one is some blocks behind: each request falls to one of them by the draw of a seed.
 */
import { JsonRpcRelay } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { answerAt, questionAt } from "../../faults/LaggingNode.ts"
import { Quantity } from "../../world/ChainRpc.ts"
import * as TrialRandom from "../../world/TrialRandom.ts"

/** The pair. */
export interface LaggingPair {
  readonly url: string
  /** From now on one of them is behind; or, said with `false`, none is. */
  readonly lag: (isLagging?: boolean) => void
  /** Number of requests that the lagging node has answered. */
  readonly answered: () => number
}

const decodeHead = Schema.decodeUnknownSync(Quantity)
const decodeBlock = Schema.decodeUnknownOption(Quantity)

/** The state of a block that has not come yet is not known. */
const isAhead = ({ params }: JsonRpcRelay.RelayedRequest, head: bigint): boolean =>
  params.some((one) => {
    const block = decodeBlock(one)
    return block._tag === "Some" && block.value > head && String(one).length < 20
  })

const decodeHash = Schema.decodeUnknownOption(Schema.Struct({ blockHash: Schema.String }))
const decodeNumbered = Schema.decodeUnknownOption(Schema.Struct({ number: Quantity }))

/** Whether a question names a block by its hash, and by one that has not come yet. */
const namesBlock = async (ask: JsonRpcRelay.Pass, { params }: JsonRpcRelay.RelayedRequest, head: bigint) => {
  const named = params.map((one) => decodeHash(one)).find(Option.isSome)
  if (named === undefined) return { isNamed: false, isAhead: false }
  const asked = { method: "eth_getBlockByHash", params: [named.value.blockHash, false] }
  const block = decodeNumbered((await ask(asked)).result)
  return { isNamed: true, isAhead: Option.isNone(block) || block.value.number > head }
}

const behind = async (
  ask: JsonRpcRelay.Pass,
  question: JsonRpcRelay.RelayedRequest,
  lagBlocks: bigint
): Promise<JsonRpcRelay.RelayedResponse> => {
  const newest = decodeHead((await ask({ method: "eth_blockNumber", params: [] })).result)
  const head = newest > lagBlocks ? newest - lagBlocks : 0n
  const named = await namesBlock(ask, question, head)
  if (named.isAhead || (isOfState(question) && isAhead(question, head)))
    return { error: { code: -32_000, message: "header not found" } }
  const { error, result } = await ask(named.isNamed ? question : questionAt(question, head))
  return error === undefined ? { result: answerAt(question, result, head) } : { error }
}

const isOfState = ({ method }: JsonRpcRelay.RelayedRequest): boolean =>
  ["eth_call", "eth_getBalance", "eth_getCode", "eth_getStorageAt"].includes(method)

/**
 * Starts the pair before a node; it goes away with the scope. Questions of the methods given, if any are, all fall to the one
 * that is behind, and all others to the other.
 */
export const make = Effect.fnUntraced(function* (upstream: string, lagBlocks: bigint, methods?: ReadonlyArray<string>) {
  const ask = JsonRpcRelay.passTo(upstream)
  const luck = TrialRandom.make("lagging pair")
  let [isLagging, asked, answered] = [false, 0, 0]
  const relay = yield* JsonRpcRelay.make((requests) => {
    const isDrawn = methods === undefined && luck.branch(asked++).perMille(500)
    const isBehind = isLagging && (isDrawn || requests.some(({ method }) => methods?.includes(method) === true))
    if (!isBehind) return JsonRpcRelay.each(ask)(requests)
    answered += requests.length
    return JsonRpcRelay.each((request) => behind(ask, request, lagBlocks))(requests)
  })
  return {
    url: relay.url,
    lag: (now = true) => void (isLagging = now),
    answered: () => answered
  } satisfies LaggingPair
})
