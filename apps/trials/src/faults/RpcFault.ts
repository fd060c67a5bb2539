/**
 * What a node does wrong, and when: each request's fate is drawn from the seed and its place in the sequence of requests,
 * so that the same sequence meets the same faults.
 */
import type { TrialRandom } from "../world/TrialRandom.ts"

/**
 * Everything that a node, a load balancer or the network between may do: answer late; break the connection before the node
 * was asked, or after it, so that only the answer is lost; refuse with 429 or 500; not know a receipt; be some blocks
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
  /** Of a thousand requests that a fault could befall, so many are befallen. */
  readonly perMille: number
  /** Requests are spread over so many nodes, and only the first of them is spoilt; default one node. */
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

/** Whether a fault shows in the answer to a method. */
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
