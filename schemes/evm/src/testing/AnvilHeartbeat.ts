/**
 * Keeps a local chain going. A node that makes a block for each transaction now and then loses its way, and stands still
 * where a real chain would go on:
 *
 * - it forgets a transaction in its pool, when a copy of it arrives just as it is mined, until the next one comes. So where
 *   a transaction waits for a second although the node should mine at once, this mines;
 * - it takes a transaction that arrives just as the one before it is mined for one that still has to wait for that, and
 *   with it all later ones of the account, for ever. So where an account's next transaction is kept from being pending for
 *   a second, all that it has in the pool are taken out and sent again.
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
/** By the account, and then by the transaction's number in decimal. */
const Queued = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Struct({ hash: Schema.String })))
const decodeContent = Schema.decodeUnknownSync(Schema.Struct({ queued: Queued }))

/** Beats as long as the scope, in real time, also where the test's clock stands still. */
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

/** An account whose next transaction is there and does not count as pending. */
interface Jam {
  readonly account: string
  /** That transaction's hash. */
  readonly next: string
  /** The hashes of all that wait, in their order. */
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

/** Nothing is taken out whose bytes are not in hand, and one that is refused on its way back keeps no other from it. */
const clear = Effect.fnUntraced(function* ({ request }: Node, { account, waiting }: Jam) {
  const bytesOf = (hash: string) => request("eth_getRawTransactionByHash", [hash])
  const signed = decodeBytes(yield* Effect.forEach(waiting, bytesOf, { concurrency: "unbounded" }))
  yield* request("anvil_removePoolTransactions", [account])
  for (const bytes of signed) yield* Effect.exit(request("eth_sendRawTransaction", [bytes]))
})
