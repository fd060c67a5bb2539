/**
 * Sixteen copies of one payment at once. The chain stands still until every copy has either been answered or sent its
 * transaction, as it does for seconds on a real one, so that no shop is saved by a fast chain.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

import type { Answer } from "../buyers/SignedPayment.ts"
import { paths } from "../shops/Goods.ts"
import { type Behaviour, counted } from "./Behaviour.ts"
import * as Stage from "./Stage.ts"

const copies = 16

/** Seen at every shop with a payment of the peers' own client. */
export const copiesAtOnce: Behaviour = {
  title: `${copies} copies of one payment at once`,
  see: Effect.fnUntraced(function* (stage, shop) {
    const { node } = stage.chain
    const scene = yield* Stage.open(stage, shop, Stage.peerBuyer(shop))
    const payment = yield* scene.sign(paths.report)
    const before = yield* stage.transactions(shop)
    const answers: Array<Answer> = []
    const sendAll = Effect.forEach(
      Array.from({ length: copies }),
      () => Effect.tap(scene.send(paths.report, payment), (answer) => Effect.sync(() => answers.push(answer))),
      { concurrency: "unbounded", discard: true }
    )
    const moveOn = Effect.map(node.request("txpool_status"), waiting).pipe(
      Effect.repeat({ until: (sent) => answers.length + sent >= copies, schedule: Schedule.spaced("5 millis") }),
      Effect.andThen(node.setAutomine(true)),
      Effect.andThen(node.mine())
    )
    yield* node.setAutomine(false)
    yield* Effect.ensuring(Effect.all([sendAll, moveOn], { concurrency: "unbounded" }), node.setAutomine(true))
    const sent = (yield* stage.transactions(shop)) - before
    const transfers = yield* scene.transfers
    return [
      tally(answers),
      counted(scene.goods.runs[paths.report], "run"),
      counted(transfers, "transfer"),
      counted(sent, "transaction")
    ].join(", ")
  }),
  shows: {
    ours: /^1 x 200 \+ 15 x 409, 1 run, 1 transfer, 1 transaction$/,
    peer: /^1 x 200 \+ 15 x 402, 16 runs, 1 transfer, \d+ transactions?$/,
    legacy: /^1 x 200 \+ 15 x 402, 16 runs, 1 transfer, \d+ transactions?$/
  }
}

const decodePool = Schema.decodeUnknownSync(Schema.Struct({ pending: Schema.String, queued: Schema.String }))

/** The number of transactions in the node's pool, by its status. */
const waiting = (status: unknown): number => {
  const { pending, queued } = decodePool(status)
  return Number(pending) + Number(queued)
}

const tally = (answers: ReadonlyArray<Answer>): string => {
  const counts = new Map<number, number>()
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${count} x ${status}`)
    .join(" + ")
}
