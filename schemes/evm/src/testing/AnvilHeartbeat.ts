/**
 * Keeps a local chain going. A node that makes a block for each transaction sometimes stops where a real chain would go on:
 *
 * - when a copy of a transaction arrives just as it is mined, the node forgets a transaction in its pool until the next one
 *   arrives. So where a transaction waits for a second although the node should mine at once, the heartbeat mines;
 * - when a transaction arrives just as the one before it is mined, the node keeps it waiting for that one, and with it all
 *   later ones of the account, for ever. So where an account's next transaction is not pending for a second, the heartbeat
 *   removes all of the account's transactions from the pool and sends them again.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { AnvilControl } from "./AnvilControl.ts"

type Node = Pick<AnvilControl, "mine" | "request">

const beatMillis = 500

const decodeBytes = Schema.decodeUnknownSync(Schema.Array(Schema.String))
const Quantity = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]+$/))
const decodeQuantity = Schema.decodeUnknownSync(Quantity)
const decodeStatus = Schema.decodeUnknownSync(Schema.Struct({ pending: Quantity, queued: Quantity }))
/** Keyed by the account, and then by the transaction's nonce in decimal. */
const Queued = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Struct({ hash: Schema.String })))
const decodeContent = Schema.decodeUnknownSync(Schema.Struct({ queued: Queued }))

/** Beats as long as the scope, in real time, even where the test's clock stands still. */
export const start = (node: Node) => {
  let waited = false
  let suspected: ReadonlyArray<Jam> = []
  const beat = Effect.gen(function* () {
    const { pending, queued } = decodeStatus(yield* node.request("txpool_status"))
    const waits = BigInt(pending) > 0n
    const forgotten = waits && waited && (yield* node.request("anvil_getAutomine")) === true
    waited = waits && !forgotten
    if (forgotten) yield* node.mine()
    const jams = BigInt(queued) > 0n ? yield* jamsOf(node) : []
    const before = new Set(suspected.map(({ next }) => next))
    for (const jam of jams) if (before.has(jam.next)) yield* clear(node, jam)
    suspected = jams
  })
  return Effect.acquireRelease(
    Effect.sync(() => {
      let beating: Promise<unknown> = Promise.resolve()
      const timer = setInterval(() => (beating = beating.then(() => Effect.runPromiseExit(beat))), beatMillis)
      return { beating: () => beating, timer }
    }),
    ({ beating, timer }) =>
      Effect.promise(() => {
        clearInterval(timer)
        return beating()
      })
  )
}

/** An account whose next transaction is in the pool and does not count as pending. */
interface Jam {
  readonly account: string
  /** That transaction's hash. */
  readonly next: string
  /** The hashes of all its waiting transactions, in their order. */
  readonly waiting: ReadonlyArray<string>
}

const jamsOf = Effect.fnUntraced(function* ({ request }: Node) {
  const { queued } = decodeContent(yield* request("txpool_content"))
  const jams: Array<Jam> = []
  for (const [account, transactions] of Object.entries(queued)) {
    const count = decodeQuantity(yield* request("eth_getTransactionCount", [account, "latest"]))
    const next = transactions[`${BigInt(count)}`]?.hash
    if (next === undefined) continue
    const inOrder = Object.entries(transactions).toSorted(([a], [b]) => Number(a) - Number(b))
    jams.push({ account, next, waiting: inOrder.map(([, { hash }]) => hash) })
  }
  return jams
})

/** Removes only transactions whose bytes are at hand; a refusal of one does not keep the others from being sent again. */
const clear = Effect.fnUntraced(function* ({ request }: Node, { account, waiting }: Jam) {
  const bytesOf = (hash: string) => request("eth_getRawTransactionByHash", [hash])
  const signed = decodeBytes(yield* Effect.forEach(waiting, bytesOf, { concurrency: "unbounded" }))
  yield* request("anvil_removePoolTransactions", [account])
  for (const bytes of signed) yield* Effect.exit(request("eth_sendRawTransaction", [bytes]))
})
