/**
 * Two nodes behind one address, of which one is some blocks behind: each request falls to one of them by the draw of a seed.
 */
import { createServer } from "node:http"

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { answerAt, questionAt, type RpcQuestion } from "../../faults/LaggingNode.ts"
import { Quantity } from "../../world/ChainRpc.ts"
import * as TrialRandom from "../../world/TrialRandom.ts"

/** The pair. */
export interface LaggingPair {
  readonly url: string
  /** From now on one of them is behind; or, said with `false`, none is. */
  readonly lag: (isLagging?: boolean) => void
  /** How many questions the one that is behind has answered. */
  readonly answered: () => number
}

const Question = Schema.Struct({
  id: Schema.Unknown,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Array(Schema.Unknown))
})
const decodeBody = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Union([Question, Schema.Array(Question)])))
const Answer = Schema.Struct({ result: Schema.optionalKey(Schema.Unknown), error: Schema.optionalKey(Schema.Unknown) })
const decodeAnswer = Schema.decodeUnknownSync(Answer)
const decodeHead = Schema.decodeUnknownSync(Quantity)
const decodeBlock = Schema.decodeUnknownOption(Quantity)

type Ask = (question: RpcQuestion) => Promise<typeof Answer.Type>

const makeAsk =
  (upstream: string): Ask =>
  async ({ method, params }) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    const response = await fetch(upstream, { method: "POST", headers: { "content-type": "application/json" }, body })
    return decodeAnswer(await response.json())
  }

/** The state of a block that has not come yet is not known. */
const isAhead = ({ params }: RpcQuestion, head: bigint): boolean =>
  params.some((one) => {
    const block = decodeBlock(one)
    return block._tag === "Some" && block.value > head && String(one).length < 20
  })

const decodeHash = Schema.decodeUnknownOption(Schema.Struct({ blockHash: Schema.String }))
const decodeNumbered = Schema.decodeUnknownOption(Schema.Struct({ number: Quantity }))

/** Whether a question names a block by its hash, and by one that has not come yet. */
const namesBlock = async (ask: Ask, { params }: RpcQuestion, head: bigint) => {
  const named = params.map((one) => decodeHash(one)).find(Option.isSome)
  if (named === undefined) return { isNamed: false, isAhead: false }
  const asked = { id: 0, method: "eth_getBlockByHash", params: [named.value.blockHash, false] }
  const block = decodeNumbered((await ask(asked)).result)
  return { isNamed: true, isAhead: Option.isNone(block) || block.value.number > head }
}

const behind = async (ask: Ask, question: RpcQuestion, lagBlocks: bigint): Promise<typeof Answer.Type> => {
  const newest = decodeHead((await ask({ id: 0, method: "eth_blockNumber", params: [] })).result)
  const head = newest > lagBlocks ? newest - lagBlocks : 0n
  const named = await namesBlock(ask, question, head)
  if (named.isAhead || (isOfState(question) && isAhead(question, head)))
    return { error: { code: -32_000, message: "header not found" } }
  const { error, result } = await ask(named.isNamed ? question : questionAt(question, head))
  return error === undefined ? { result: answerAt(question, result, head) } : { error }
}

const isOfState = ({ method }: RpcQuestion): boolean =>
  ["eth_call", "eth_getBalance", "eth_getCode", "eth_getStorageAt"].includes(method)

/**
 * Starts the pair before a node; it goes away with the scope. Questions of the methods given, if any are, all fall to the one
 * that is behind, and all others to the other.
 */
export const make = Effect.fnUntraced(function* (upstream: string, lagBlocks: bigint, methods?: ReadonlyArray<string>) {
  const ask = makeAsk(upstream)
  const luck = TrialRandom.make("lagging pair")
  let [isLagging, asked, answered] = [false, 0, 0]
  const reply = async (question: RpcQuestion, isBehind: boolean) => {
    if (isBehind) answered++
    const { error, result } = await (isBehind ? behind(ask, question, lagBlocks) : ask(question))
    return { jsonrpc: "2.0", id: question.id, ...(error === undefined ? { result: result ?? null } : { error }) }
  }
  const server = createServer((request, response) => {
    const attend = async () => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      const body = decodeBody(Buffer.concat(chunks).toString())
      const questions = [body].flat().map(({ id, method, params = [] }) => ({ id, method, params }))
      const isDrawn = methods === undefined && luck.branch(asked++).perMille(500)
      const isBehind = isLagging && (isDrawn || questions.some(({ method }) => methods?.includes(method) === true))
      const answers = await Promise.all(questions.map((question) => reply(question, isBehind)))
      const text = JSON.stringify(Array.isArray(body) ? answers : answers[0])
      response.writeHead(200, { "content-type": "application/json" }).end(text)
    }
    // The facilitator is gone, or the chain is: both of it is a broken connection.
    void attend().catch(() => response.destroy())
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    lag: (now = true) => void (isLagging = now),
    answered: () => answered
  } satisfies LaggingPair
})
