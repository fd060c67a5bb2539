/**
 * The facts of payments that go on to a second chain, read by plain requests to both nodes: what the router has taken in and sent on, what
 * has arrived by which message, and the transactions of the facilitator's signer there. This module does not know how a facilitator works.
 */
import * as Effect from "effect/Effect"

import { type ChainRpc, Quantity } from "../world/ChainRpc.ts"
import { addressOf, type ChainFacts, logsOf, read, transferTopic } from "./ChainFacts.ts"

/** A payment's departure: the router's own event. Texts are in lower case. */
export interface Departure {
  readonly payer: string
  readonly nonce: string
  /** The message on the bridge. */
  readonly guid: string
  /** The amount that is sent, and the least that arrives of it. */
  readonly sent: bigint
  readonly arriving: bigint
  readonly transaction: string
}

/** A message's arrival: the event of the token on the second chain. */
export interface Arrival {
  readonly guid: string
  readonly to: string
  readonly amount: bigint
  /** The part of the amount that was taken on the way. */
  readonly fee: bigint
  readonly transaction: string
}

/** The router's transfers on the first chain, in sum. */
export interface RouterSums {
  readonly taken: bigint
  readonly fees: bigint
  readonly locked: bigint
}

/** The first chain's facts. */
export interface NearFacts {
  readonly departures: ReadonlyArray<Departure>
  readonly sums: RouterSums
}

/** The second chain's facts. */
export interface FarFacts {
  readonly arrivals: ReadonlyArray<Arrival>
  /** Of the token there, the payee, and the facilitator's signer. */
  readonly far: ChainFacts
}

export interface CrossingFacts extends NearFacts, FarFacts {}

/** `Bridged(address indexed from, bytes32 indexed nonce, bytes32 indexed message, uint256 arriving)`. */
const bridgedTopic = "0x3759f597f43bd0633e640eca7356e67acb8d52ef80e369fa82ae263a97ac671c"
/** `OFTReceived(bytes32 indexed guid, uint32 srcEid, address indexed toAddress, uint256 amountReceivedLD)`. */
const receivedTopic = "0xefed6d3500546b29533b128a29e3a94d70788727f0507505ac12eaf2e578fd9c"

/** The router, the bridge's contract, and the account that gets the fees. */
export interface NearParties {
  readonly router: string
  readonly bridge: string
  readonly feeTo: string
}

/** Reads the first chain. */
export const readNear = Effect.fnUntraced(function* (
  rpc: ChainRpc,
  token: string,
  { bridge, feeTo, router }: NearParties,
  first: bigint
): Effect.fn.Return<NearFacts> {
  const head = yield* rpc.ask(Quantity, "eth_blockNumber")
  const logs = yield* logsOf(rpc, { address: [router, token], topics: [[bridgedTopic, transferTopic]] }, first, head)
  const transfers = logs.filter(({ topics }) => topics[0] === transferTopic)
  const sumOf = (from: string | undefined, to: string) =>
    transfers
      .filter(({ topics }) => from === undefined || addressOf(topics[1]) === from.toLowerCase())
      .filter(({ topics }) => addressOf(topics[2]) === to.toLowerCase())
      .reduce((sum, { data }) => sum + BigInt(data), 0n)
  return {
    departures: logs
      .filter(({ topics }) => topics[0] === bridgedTopic)
      .map(({ data, topics, transactionHash }) => ({
        payer: addressOf(topics[1]),
        nonce: (topics[2] ?? "").toLowerCase(),
        guid: (topics[3] ?? "").toLowerCase(),
        sent: BigInt(data),
        arriving: BigInt(data),
        transaction: transactionHash.toLowerCase()
      })),
    sums: { taken: sumOf(undefined, router), fees: sumOf(router, feeTo), locked: sumOf(router, bridge) }
  }
})

/** The second chain's node, its token, and the facilitator's signer there. */
export interface FarParties {
  readonly rpc: ChainRpc
  readonly market: { readonly asset: string }
  readonly signer: string
  readonly firstBlock: bigint
}

/** Reads the second chain. */
export const readFar = Effect.fnUntraced(function* (
  { firstBlock, market: { asset: token }, rpc, signer }: FarParties,
  payee: string
): Effect.fn.Return<FarFacts> {
  const far = yield* read(rpc, { token, payees: [payee], signers: [signer], fromBlock: firstBlock })
  const logs = yield* logsOf(rpc, { address: [token], topics: [[receivedTopic]] }, firstBlock, far.head)
  return {
    far,
    arrivals: logs.map(({ data, topics, transactionHash }) => ({
      guid: (topics[1] ?? "").toLowerCase(),
      to: addressOf(topics[2]),
      // Two words: the first chain's number on the bridge, and the amount.
      amount: BigInt(`0x${data.slice(66)}`),
      fee: 0n,
      transaction: transactionHash.toLowerCase()
    }))
  }
})
