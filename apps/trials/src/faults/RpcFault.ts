/**
 * The faults of a node and their schedule: each request's fault is drawn from the seed and its place in the sequence of
 * requests, so that the same sequence meets the same faults.
 */
import type { TrialRandom } from "../world/TrialRandom.ts"

/**
 * Faults of a node, a load balancer or the network between: respond late; break the connection before the node
 * has the request, or after it, so that only the response is lost; refuse with 429 or 500; not know a receipt; be some blocks
 * behind; serve another chain; invent a receipt; accept a transaction and forget it.
 */
export const rpcFaults = [
  "latency",
  "reset",
  "lost-answer",
  "too-many",
  "server-error",
  "no-receipt",
  "lag",
  "wrong-chain",
  "forged-receipt",
  "swallowed"
] as const

export type RpcFault = (typeof rpcFaults)[number]

/** Which faults, and how often. */
export interface RpcSchedule {
  readonly faults: ReadonlyArray<RpcFault>
  /** Faulty requests per thousand of those that a fault could hit. */
  readonly perMille: number
  /** Number of nodes that requests are spread over; only the first is faulty; default one node. */
  readonly nodes?: number
}

/**
 * The fate of the request at this place in the sequence, which asks for these methods; `undefined` where all goes well.
 */
export const fateOf = (
  random: TrialRandom,
  { faults, nodes = 1, perMille }: RpcSchedule,
  index: number,
  methods: ReadonlyArray<string>
): RpcFault | undefined => {
  const possible = faults.filter((fault) => methods.some((method) => strikes(fault, method)))
  const luck = random.branch(index)
  const isSpoilt = luck.branch("node").below(nodes) === 0
  return isSpoilt && possible.length > 0 && luck.perMille(perMille) ? luck.pick(possible) : undefined
}

/** Whether a fault shows in the response to a method. */
export const strikes = (fault: RpcFault, method: string): boolean => methodsOf[fault]?.includes(method) ?? true

const receipt = ["eth_getTransactionReceipt"]

/** Faults that befall any request are left out. */
const methodsOf: { readonly [fault in RpcFault]?: ReadonlyArray<string> } = {
  "no-receipt": receipt,
  "forged-receipt": receipt,
  "wrong-chain": ["eth_chainId"],
  swallowed: ["eth_sendRawTransaction"],
  lag: [
    "eth_blockNumber",
    "eth_call",
    "eth_getBalance",
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_getTransactionCount",
    ...receipt
  ]
}
