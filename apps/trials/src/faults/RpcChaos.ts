/**
 * A node between a facilitator and the chain that passes questions on, except where its schedule has a fault befall one.
 * Put one before each of several upstreams to spoil one of them, or one before all of them to spoil the chain.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { keccak256, type TransactionSerialized } from "viem"

import { Quantity, toQuantity } from "../world/ChainRpc.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import * as ForgedReceipt from "./ForgedReceipt.ts"
import { answerAt, questionAt, type RpcQuestion } from "./LaggingNode.ts"
import { fateOf, type RpcFault, type RpcSchedule, strikes } from "./RpcFault.ts"

/** How the proxy is made. */
export interface Options {
  /** The node that is asked. */
  readonly upstream: string
  readonly random: TrialRandom
  /** None until {@link RpcChaos.storm}, if left out. */
  readonly schedule?: RpcSchedule
  /** The longest delay of a late answer, in milliseconds; default 400. */
  readonly latencyMillis?: number
  /** How many blocks a node that is behind is behind; default 20. */
  readonly lagBlocks?: bigint
}

/** A transaction that somebody sent through the proxy; `at` is the monotonic clock's milliseconds. */
export interface Broadcast {
  readonly hash: string
  readonly bytes: TransactionSerialized
  readonly at: number
}

/** A running proxy. */
export interface RpcChaos {
  readonly url: string
  /** What befell each request so far, in their order. */
  readonly fates: ReadonlyArray<RpcFault | undefined>
  /** Every transaction that somebody tried to send, in order, whether the node got it or not. */
  readonly broadcasts: ReadonlyArray<Broadcast>
  /** Faults by this schedule from now on. */
  readonly storm: (schedule: RpcSchedule) => void
  /** No faults from now on. */
  readonly calm: () => void
  /** Breaks every connection at once from now on; or mends the line. */
  readonly cut: (cut: boolean) => void
}

/** Starts a proxy; it goes away with the scope. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const state: State = { ...options, sent: new Map(), fates: [], broadcasts: [], isCut: false, asked: 0 }
  const server = createServer((request, response) => void attend(state, request, response))
  const port = yield* Effect.acquireRelease(listen(server), () => close(server))
  const chaos: RpcChaos = {
    url: `http://127.0.0.1:${port}`,
    fates: state.fates,
    broadcasts: state.broadcasts,
    storm: (schedule) => void (state.schedule = schedule),
    calm: () => void (state.schedule = undefined),
    cut: (cut) => {
      state.isCut = cut
      if (cut) server.closeAllConnections()
    }
  }
  return chaos
})

interface State extends Omit<Options, "schedule"> {
  schedule?: RpcSchedule | undefined
  readonly sent: Map<string, TransactionSerialized>
  readonly fates: Array<RpcFault | undefined>
  readonly broadcasts: Array<Broadcast>
  isCut: boolean
  asked: number
}

const Question = Schema.Struct({
  id: Schema.Unknown,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Array(Schema.Unknown))
})
const decodeBody = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Union([Question, Schema.Array(Question)])))
const decodeSigned = Schema.decodeUnknownSync(Schema.TemplateLiteral(["0x02", Schema.String]))
const decodeHead = Schema.decodeUnknownSync(Quantity)
const NodeAnswer = Schema.Struct({
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Unknown)
})
const decodeAnswer = Schema.decodeUnknownSync(NodeAnswer)

type NodeAnswer = typeof NodeAnswer.Type

const listen = (server: Server) =>
  Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const close = (server: Server) =>
  Effect.sync(() => {
    server.closeAllConnections()
    server.close()
  })

const attend = async (state: State, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  try {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const body = decodeBody(Buffer.concat(chunks).toString())
    const many = Array.isArray(body)
    const questions = [body].flat().map(({ id, method, params = [] }) => ({ id, method, params }))
    await answer(state, questions, many, response)
  } catch {
    // The other side has gone, the node has, or somebody sent nonsense: all of it is a broken connection.
    response.destroy()
  }
}

const answer = async (
  state: State,
  questions: ReadonlyArray<RpcQuestion>,
  many: boolean,
  response: ServerResponse
): Promise<void> => {
  const fault = drawn(state, questions)
  for (const question of questions) note(state, question)
  if (state.isCut || fault === "reset") return void response.destroy()
  if (fault === "too-many") return void response.writeHead(429, { "retry-after": "1" }).end()
  if (fault === "server-error") return void response.writeHead(500).end("<html>Internal Server Error</html>")
  const answers = await Promise.all(questions.map((question) => replyTo(state, question, fault)))
  if (fault === "latency") await pause(state.random.branch(`late${state.asked}`).below(state.latencyMillis ?? 400))
  if (state.isCut || fault === "lost-answer") return void response.destroy()
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(many ? answers : answers[0]))
}

const drawn = (state: State, questions: ReadonlyArray<RpcQuestion>): RpcFault | undefined => {
  const methods = questions.map(({ method }) => method)
  const index = state.asked++
  const fault = state.schedule && fateOf(state.random, state.schedule, index, methods)
  state.fates.push(fault)
  return fault
}

const note = (state: State, { method, params }: RpcQuestion): void => {
  if (method !== "eth_sendRawTransaction") return
  const bytes = decodeSigned(params[0])
  const hash = keccak256(bytes)
  state.sent.set(hash, bytes)
  state.broadcasts.push({ hash, bytes, at: performance.now() })
}

const replyTo = async (state: State, question: RpcQuestion, fault: RpcFault | undefined) => {
  const struck = fault !== undefined && strikes(fault, question.method) ? fault : undefined
  const { error, result } = await spoilt(state, question, struck)
  return { jsonrpc: "2.0", id: question.id, ...(error === undefined ? { result: result ?? null } : { error }) }
}

type Spoil = (state: State, question: RpcQuestion) => Promise<NodeAnswer>

const spoilt = (state: State, question: RpcQuestion, fault: RpcFault | undefined): Promise<NodeAnswer> => {
  const spoil = fault === undefined ? undefined : spoils[fault]
  return spoil === undefined ? pass(state, question) : spoil(state, question)
}

/** The faults that are in the answer's words; the others are in how it travels. */
const spoils: { readonly [fault in RpcFault]?: Spoil } = {
  "no-receipt": () => Promise.resolve({ result: null }),
  "wrong-chain": () => Promise.resolve({ result: toQuantity(wrongChain) }),
  "forged-receipt": async (state, question) => ({ result: await forged(state, question) }),
  swallowed: (_, { params }) => Promise.resolve({ result: keccak256(decodeSigned(params[0])) }),
  lag: (state, question) => behind(state, question)
}

const wrongChain = 4_217n

const pass = async ({ upstream }: State, { method, params }: RpcQuestion): Promise<NodeAnswer> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  const response = await fetch(upstream, { method: "POST", headers: { "content-type": "application/json" }, body })
  return decodeAnswer(await response.json())
}

const ask = (state: State) => async (method: string, params: ReadonlyArray<unknown>) =>
  (await pass(state, { id: 0, method, params })).result

const forged = async (state: State, { params }: RpcQuestion): Promise<unknown> => {
  const bytes = state.sent.get(String(params[0]).toLowerCase())
  return bytes === undefined ? null : ForgedReceipt.make(ask(state), bytes)
}

const behind = async (state: State, question: RpcQuestion): Promise<NodeAnswer> => {
  const newest = decodeHead(await ask(state)("eth_blockNumber", []))
  const lag = state.lagBlocks ?? 20n
  const head = newest > lag ? newest - lag : 0n
  const { error, result } = await pass(state, questionAt(question, head))
  return error === undefined ? { result: answerAt(question, result, head) } : { error }
}

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))
