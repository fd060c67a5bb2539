/**
 * The facts of payments that go on over CCTP, read by plain requests to both nodes. The issuer names a message when it attests it, by the
 * place where it was sent (`LocalAttester`), which is read here too. This module does not know how a facilitator works.
 */
import { LocalAttester } from "@pontage/devnet/bridge"
import * as Effect from "effect/Effect"
import { decodeAbiParameters, isHex, parseAbiParameters, slice } from "viem"

import { type ChainRpc, Quantity } from "../world/ChainRpc.ts"
import { addressOf, type Log, logsOf, read } from "./ChainFacts.ts"
import * as CrossingFacts from "./CrossingFacts.ts"

/** `MessageSent(bytes message)`. */
const sentTopic = "0x8c5261668696ce22758910d05bab8f186d6eb247ceac2af2e82c7dc17669b036"
/** `MessageReceived(address indexed, uint32, bytes32 indexed nonce, bytes32, uint32 indexed, bytes messageBody)`. */
const receivedTopic = "0xff48c13eda96b1cceacc6b9edeedc9e9db9d6226afbc30146b720c19d3addb1c"

const hexOf = (text: string) => (isHex(text) ? text : "0x")

/** Reads the first chain. A transaction's payments and its messages are in the same order. */
export const readNear = Effect.fnUntraced(function* (
  rpc: ChainRpc,
  token: string,
  parties: CrossingFacts.NearParties,
  first: bigint
): Effect.fn.Return<CrossingFacts.NearFacts> {
  const { departures, sums } = yield* CrossingFacts.readNear(rpc, token, parties, first)
  const head = yield* rpc.ask(Quantity, "eth_blockNumber")
  const sent = yield* logsOf(rpc, { address: [parties.bridge], topics: [[sentTopic]] }, first, head)
  const byTransaction = Map.groupBy(sent, ({ transactionHash }) => transactionHash.toLowerCase())
  return {
    sums,
    departures: departures.map((departure) => {
      const log = byTransaction.get(departure.transaction)?.shift()
      return log === undefined ? departure : Object.assign({}, departure, messageOf(log))
    })
  }
})

const messageOf = ({ data, logIndex, transactionHash }: Log) => {
  const [message] = decodeAbiParameters(parseAbiParameters("bytes"), hexOf(data))
  return {
    guid: LocalAttester.nonceOf(hexOf(transactionHash), Number(logIndex)),
    sent: BigInt(slice(message, 216, 248))
  }
}

/** The contract on the second chain, which is messenger and transmitter in one. */
interface FarParties extends CrossingFacts.FarParties {
  readonly transmitter: string
}

/** Reads the second chain. */
export const readFar = Effect.fnUntraced(function* (
  { firstBlock, market: { asset: token }, rpc, signer, transmitter }: FarParties,
  payee: string
): Effect.fn.Return<CrossingFacts.FarFacts> {
  const far = yield* read(rpc, { token, payees: [payee], signers: [signer], fromBlock: firstBlock })
  const logs = yield* logsOf(rpc, { address: [transmitter], topics: [[receivedTopic]] }, firstBlock, far.head)
  return { far, arrivals: logs.map(arrivalOf) }
})

const arrivalOf = ({ data, topics, transactionHash }: Log): CrossingFacts.Arrival => {
  const [, , body] = decodeAbiParameters(parseAbiParameters("uint32, bytes32, bytes"), hexOf(data))
  const fee = BigInt(slice(body, 164, 196))
  return {
    guid: (topics[2] ?? "").toLowerCase(),
    to: addressOf(slice(body, 36, 68)),
    amount: BigInt(slice(body, 68, 100)) - fee,
    fee,
    transaction: transactionHash.toLowerCase()
  }
}
