/**
 * The facts of payments that an operator delivers from its own money, read by plain requests to both nodes: what its account has got on the
 * first chain, and what has left the same account on the second one. The name of a payment's delivery is the nonce that follows from the
 * payer's, computed here anew. This module does not know how a facilitator works.
 */
import * as Effect from "effect/Effect"
import { keccak256, toBytes } from "viem"

import { type ChainRpc, Quantity } from "../world/ChainRpc.ts"
import { addressOf, logsOf, read, transferTopic, usedTopic } from "./ChainFacts.ts"
import type { FarFacts, NearFacts } from "./CrossingFacts.ts"

/** The operator's account on the first chain, and the fee that it takes of each payment. */
interface NearParties {
  readonly chainId: number
  readonly token: string
  readonly operator: string
  readonly fee: bigint
}

/** The operator's account on the second chain, and the facilitator's signer there. */
interface FarParties {
  readonly token: string
  readonly operator: string
  readonly signer: string
  readonly firstBlock: bigint
}

/** A transfer, and the authorization that has made it; none for one by its owner. */
interface Moved {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly nonce: string | undefined
  readonly transaction: string
}

/** The token tells of an authorization's use right before the transfer that it made, in the same transaction. */
const movedIn = Effect.fnUntraced(function* (rpc: ChainRpc, token: string, first: bigint, last: bigint) {
  const logs = yield* logsOf(rpc, { address: [token], topics: [[transferTopic, usedTopic]] }, first, last)
  return logs.flatMap((log, index): ReadonlyArray<Moved> => {
    const { data, topics, transactionHash } = log
    if (topics[0] !== transferTopic) return []
    const before = logs[index - 1]
    const isUse = before?.topics[0] === usedTopic && before.transactionHash === transactionHash
    return [
      {
        from: addressOf(topics[1]),
        to: addressOf(topics[2]),
        value: BigInt(data),
        nonce:
          isUse && addressOf(before.topics[1]) === addressOf(topics[1]) ? before.topics[2]?.toLowerCase() : undefined,
        transaction: transactionHash.toLowerCase()
      }
    ]
  })
})

/** The nonce of the operator's payment to the shop. */
const payoutOf = ({ chainId, token }: NearParties, payer: string, nonce: string): string => {
  const parts = ["pontage payout 1", `${chainId}`, token.toLowerCase(), payer, nonce]
  return `0x${keccak256(toBytes(JSON.stringify(parts))).slice(2, 50)}${"0".repeat(16)}`
}

const sumOf = (values: ReadonlyArray<bigint>): bigint => values.reduce((sum, value) => sum + value, 0n)

/** Reads the first chain: whatever has reached the operator is a departure, a fee, or has no name. */
export const readNear = Effect.fnUntraced(function* (
  rpc: ChainRpc,
  parties: NearParties,
  first: bigint
): Effect.fn.Return<NearFacts> {
  const head = yield* rpc.ask(Quantity, "eth_blockNumber")
  const all = yield* movedIn(rpc, parties.token, first, head)
  const taken = all.filter(({ to }) => to === parties.operator.toLowerCase())
  const departures = taken.flatMap(({ from: payer, nonce, transaction, value }) =>
    nonce === undefined
      ? []
      : [
          {
            payer,
            nonce,
            guid: payoutOf(parties, payer, nonce),
            sent: value - parties.fee,
            arriving: value - parties.fee,
            transaction
          }
        ]
  )
  return {
    departures,
    sums: {
      taken: sumOf(taken.map(({ value }) => value)),
      fees: BigInt(departures.length) * parties.fee,
      locked: sumOf(departures.map(({ arriving }) => arriving))
    }
  }
})

/** Reads the second chain: all that has left the operator's account, by whichever name and to whomever. */
export const readFar = Effect.fnUntraced(function* (
  rpc: ChainRpc,
  { firstBlock, operator, signer, token }: FarParties,
  payee: string
): Effect.fn.Return<FarFacts> {
  const far = yield* read(rpc, { token, payees: [payee], signers: [signer], fromBlock: firstBlock })
  const all = yield* movedIn(rpc, token, firstBlock, far.head)
  return {
    far,
    arrivals: all
      .filter(({ from }) => from === operator.toLowerCase())
      .map(({ nonce, to, transaction, value }) => ({
        guid: nonce ?? transaction,
        to,
        amount: value,
        fee: 0n,
        transaction
      }))
  }
})
