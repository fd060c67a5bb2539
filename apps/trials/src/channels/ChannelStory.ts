/**
 * The story of the jobs of a shop of channels that are not over, for people: what the shop's records say of each lane transaction and of
 * its payments, and beside it what the node knows of them. It begins with the node itself, whose own faults look like the shop's.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { type ChainRpc, Quantity, toQuantity } from "../world/ChainRpc.ts"
import type { TrialOutput } from "../world/TrialOptions.ts"
import type { TrialWorld } from "../world/TrialWorld.ts"

const Place = Schema.Struct({ number: Schema.BigIntFromString, hash: Schema.String })

const Lanes = Schema.fromJsonString(
  Schema.Array(
    Schema.Struct({
      lane: Schema.String,
      number: Schema.BigIntFromString,
      attempts: Schema.Array(Schema.Struct({ transaction: Schema.String })),
      inclusion: Schema.optionalKey(Schema.Struct({ block: Place })),
      payments: Schema.Array(
        Schema.Struct({
          paymentId: Schema.String,
          status: Schema.String,
          payload: Schema.Struct({ type: Schema.String }),
          authorization: Schema.Struct({ payer: Schema.String, validBefore: Schema.Number }),
          refusal: Schema.optionalKey(Schema.Unknown),
          history: Schema.Array(
            Schema.Struct({ at: Schema.Number, status: Schema.String, note: Schema.optionalKey(Schema.String) })
          )
        })
      )
    })
  )
)

type LaneRecord = (typeof Lanes.Type)[number]

/** Blocks behind the head that are compared with each other. */
const looked = 64

const Header = Schema.NullOr(Schema.Struct({ hash: Schema.String, parentHash: Schema.String, timestamp: Quantity }))

const headerOf = (rpc: ChainRpc, number: bigint) => rpc.ask(Header, "eth_getBlockByNumber", [toQuantity(number), false])

/**
 * Faults of the node's newest blocks: one that it does not show, or one that does not follow the one before it. A whole chain has none.
 */
export const brokenBlocks = Effect.fnUntraced(function* (rpc: ChainRpc): Effect.fn.Return<ReadonlyArray<string>> {
  const head = yield* rpc.ask(Quantity, "eth_blockNumber")
  const first = head > looked ? head - BigInt(looked) : 0n
  const numbers = Array.from({ length: Number(head - first) + 1 }, (_, up) => first + BigInt(up))
  const headers = yield* Effect.forEach(numbers, (number) => headerOf(rpc, number))
  return headers.flatMap((header, index) => {
    const number = numbers[index]
    const before = headers[index - 1]
    if (header === null) return [`the node shows no block ${number}, and its head is ${head}`]
    if (index === 0 || before === null || before?.hash === header.parentHash) return []
    return [`the block ${number} follows ${header.parentHash}, and the block before it is ${before?.hash}`]
  })
})

const nodeQuestions = [["eth_getBlockByNumber", "latest", false], ["txpool_status"], ["txpool_inspect"]] as const

/** The chain's head, the transactions that wait in the node's pool, and the signers' counts. */
const nodeOf = Effect.fnUntraced(function* ({ chain, rpc, signers }: TrialWorld): Effect.fn.Return<TrialOutput> {
  const answers = yield* Effect.forEach(nodeQuestions, ([method, ...params]) =>
    Effect.map(rpc.ask(Schema.Unknown, method, params), (answer) => `${method}: ${JSON.stringify(answer)}`)
  )
  const counts = yield* Effect.forEach(signers, (signer) =>
    Effect.map(
      Effect.forEach(["latest", "pending"], (block) => rpc.ask(Quantity, "eth_getTransactionCount", [signer, block])),
      ([latest, pending]) => `the node counts ${latest} transactions of ${signer}, ${pending} with the waiting ones`
    )
  )
  return { url: chain.rpcUrl, log: [...answers, ...counts, ...(yield* brokenBlocks(rpc))] }
})

const Receipt = Schema.NullOr(
  Schema.Struct({ blockNumber: Quantity, blockHash: Schema.String, status: Schema.String, gasUsed: Quantity })
)
const Known = Schema.NullOr(Schema.Struct({ blockNumber: Schema.optionalKey(Schema.NullOr(Schema.String)) }))

/** The node's knowledge of a transaction. */
const knownOf = Effect.fnUntraced(function* (rpc: ChainRpc, hash: string): Effect.fn.Return<string> {
  const receipt = yield* rpc.ask(Receipt, "eth_getTransactionReceipt", [hash])
  if (receipt !== null) {
    const { blockHash, blockNumber, gasUsed, status } = receipt
    return `${hash} is in the block ${blockNumber} ${blockHash}, status ${status}, gas ${gasUsed}`
  }
  const known = yield* rpc.ask(Known, "eth_getTransactionByHash", [hash])
  return known === null ? `${hash} is unknown to the node` : `${hash} waits in the node's pool`
})

const recordOf = Effect.fnUntraced(function* (
  rpc: ChainRpc,
  { attempts, inclusion, number, payments }: LaneRecord
): Effect.fn.Return<ReadonlyArray<string>> {
  const block = inclusion?.block
  const shown = block && (yield* headerOf(rpc, block.number))
  const place =
    block === undefined
      ? "in no block by the records"
      : `in the block ${block.number} ${block.hash} by the records, where the node has ${shown?.hash ?? "none"}`
  const known = yield* Effect.forEach(attempts, ({ transaction }) => knownOf(rpc, transaction))
  return [
    `transaction ${number}: ${place}`,
    ...known.map((text) => `  ${text}`),
    ...payments.map(({ authorization: { payer, validBefore }, history, paymentId, payload, refusal, status }) => {
      const past = history.map(({ at, note, status: then }) => `${at} ${then}${note === undefined ? "" : ` (${note})`}`)
      const why = refusal === undefined ? "" : `, refused: ${JSON.stringify(refusal)}`
      return `  ${payload.type} ${paymentId} of ${payer}, valid before ${validBefore}: ${status}${why}; ${past.join(", ")}`
    })
  ]
})

/** Tells the story, in parts that a report can show. */
export const tell = Effect.fnUntraced(function* (
  world: TrialWorld,
  shop: string
): Effect.fn.Return<ReadonlyArray<TrialOutput>> {
  const url = `${shop}/lanes`
  const text = yield* Effect.promise(() => fetch(url).then((response) => response.text(), String))
  const records = yield* Effect.result(Schema.decodeUnknownEffect(Lanes)(text))
  const node = yield* nodeOf(world)
  if (records._tag === "Failure") return [{ url, log: [text.slice(0, 1_000), records.failure.message] }, node]
  const lanes = [...new Set(records.success.map(({ lane }) => lane))]
  const stories = yield* Effect.forEach(lanes, (lane) =>
    Effect.map(
      Effect.forEach(
        records.success.filter((one) => one.lane === lane),
        (one) => recordOf(world.rpc, one)
      ),
      (lines) => ({ url: `${url} ${lane}`, log: lines.flat() })
    )
  )
  return [...stories, node]
})
