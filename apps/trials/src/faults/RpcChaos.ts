/**
 * A node between a facilitator and the chain that passes questions on, except where its schedule has a fault befall one.
 * Put one before each of several upstreams to spoil one of them, or one before all of them to spoil the chain.
 */
import { JsonRpcRelay } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { keccak256, type TransactionSerialized } from "viem"

import { Quantity, toQuantity } from "../world/ChainRpc.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import * as ForgedReceipt from "./ForgedReceipt.ts"
import { answerAt, questionAt } from "./LaggingNode.ts"
import { fateOf, type RpcFault, type RpcSchedule, strikes } from "./RpcFault.ts"

/** The options of the proxy. */
export interface Options {
  /** The node behind the proxy. */
  readonly upstream: string
  readonly random: TrialRandom
  /** None until {@link RpcChaos.storm}, if left out. */
  readonly schedule?: RpcSchedule
  /** The longest delay of a late response, in milliseconds; default 400. */
  readonly latencyMillis?: number
  /** Lag of a lagging node, in blocks; default 20. */
  readonly lagBlocks?: bigint
}

/** A transaction sent through the proxy; `at` is the monotonic clock's milliseconds. */
export interface Broadcast {
  readonly hash: string
  readonly bytes: TransactionSerialized
  readonly at: number
}

/** A running proxy. */
export interface RpcChaos {
  readonly url: string
  /** The fault of each request so far, in their order; `undefined` for none. */
  readonly fates: ReadonlyArray<RpcFault | undefined>
  /** Every transaction that a client tried to send, in order, whether the node received it or not. */
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
  const pass = JsonRpcRelay.passTo(options.upstream)
  const state: State = { ...options, pass, sent: new Map(), fates: [], broadcasts: [], isCut: false, asked: 0 }
  const relay = yield* JsonRpcRelay.make((requests) => attend(state, requests))
  const chaos: RpcChaos = {
    url: relay.url,
    fates: state.fates,
    broadcasts: state.broadcasts,
    storm: (schedule) => void (state.schedule = schedule),
    calm: () => void (state.schedule = undefined),
    cut: (cut) => {
      state.isCut = cut
      if (cut) relay.disconnect()
    }
  }
  return chaos
})

interface State extends Omit<Options, "schedule"> {
  readonly pass: JsonRpcRelay.Pass
  schedule?: RpcSchedule | undefined
  readonly sent: Map<string, TransactionSerialized>
  readonly fates: Array<RpcFault | undefined>
  readonly broadcasts: Array<Broadcast>
  isCut: boolean
  asked: number
}

const decodeSigned = Schema.decodeUnknownSync(Schema.TemplateLiteral(["0x02", Schema.String]))
const decodeHead = Schema.decodeUnknownSync(Quantity)

type NodeResponse = JsonRpcRelay.RelayedResponse
type RpcRequest = JsonRpcRelay.RelayedRequest

const broken: JsonRpcRelay.Reply = { _tag: "Broken" }

const attend = async (state: State, questions: ReadonlyArray<RpcRequest>): Promise<JsonRpcRelay.Reply> => {
  const fault = drawn(state, questions)
  for (const question of questions) note(state, question)
  if (state.isCut || fault === "reset") return broken
  if (fault === "too-many") return { _tag: "Http", status: 429, headers: { "retry-after": "1" } }
  if (fault === "server-error") return { _tag: "Http", status: 500, body: "<html>Internal Server Error</html>" }
  const reply = await JsonRpcRelay.each((question) => replyTo(state, question, fault))(questions)
  if (fault === "latency") await pause(state.random.branch(`late${state.asked}`).below(state.latencyMillis ?? 400))
  return state.isCut || fault === "lost-answer" ? broken : reply
}

const drawn = (state: State, questions: ReadonlyArray<RpcRequest>): RpcFault | undefined => {
  const methods = questions.map(({ method }) => method)
  const index = state.asked++
  const fault = state.schedule && fateOf(state.random, state.schedule, index, methods)
  state.fates.push(fault)
  return fault
}

const note = (state: State, { method, params }: RpcRequest): void => {
  if (method !== "eth_sendRawTransaction") return
  const bytes = decodeSigned(params[0])
  const hash = keccak256(bytes)
  state.sent.set(hash, bytes)
  state.broadcasts.push({ hash, bytes, at: performance.now() })
}

const replyTo = (state: State, question: RpcRequest, fault: RpcFault | undefined): Promise<NodeResponse> => {
  const spoil = fault !== undefined && strikes(fault, question.method) ? spoils[fault] : undefined
  return spoil === undefined ? state.pass(question) : spoil(state, question)
}

type Spoil = (state: State, question: RpcRequest) => Promise<NodeResponse>

/** The faults in the response's content; the others lie in its transport. */
const spoils: { readonly [fault in RpcFault]?: Spoil } = {
  "no-receipt": () => Promise.resolve({ result: null }),
  "wrong-chain": () => Promise.resolve({ result: toQuantity(wrongChain) }),
  "forged-receipt": async (state, question) => ({ result: await forged(state, question) }),
  swallowed: (_, { params }) => Promise.resolve({ result: keccak256(decodeSigned(params[0])) }),
  lag: (state, question) => behind(state, question)
}

const wrongChain = 4_217n

const ask = (state: State) => async (method: string, params: ReadonlyArray<unknown>) =>
  (await state.pass({ method, params })).result

const forged = async (state: State, { params }: RpcRequest): Promise<unknown> => {
  const bytes = state.sent.get(String(params[0]).toLowerCase())
  return bytes === undefined ? null : ForgedReceipt.make(ask(state), bytes)
}

const behind = async (state: State, question: RpcRequest): Promise<NodeResponse> => {
  const newest = decodeHead(await ask(state)("eth_blockNumber", []))
  const lag = state.lagBlocks ?? 20n
  const head = newest > lag ? newest - lag : 0n
  const { error, result } = await state.pass(questionAt(question, head))
  return error === undefined ? { result: answerAt(question, result, head) } : { error }
}

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))
