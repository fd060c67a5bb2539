/**
 * A payment that comes while the facilitator cannot be reached, and comes again when it can.
 */
import * as Effect from "effect/Effect"

import { paths } from "../shops/Goods.ts"
import { type Behaviour, counted } from "./Behaviour.ts"
import * as Stage from "./Stage.ts"

/** Seen at every shop with a payment of the peers' own client. */
export const facilitatorDown: Behaviour = {
  title: "the facilitator is down; then it is up, and the same payment comes again",
  see: Effect.fnUntraced(function* (stage, shop) {
    const front = stage.front(shop)
    const { goods, send, sign, transfers } = yield* Stage.open(stage, shop, Stage.peerBuyer(shop))
    const payment = yield* sign(paths.report)
    yield* front.takeDown
    const { retryAfter, status } = yield* Effect.ensuring(send(paths.report, payment), front.putUp)
    const after = retryAfter === null ? "" : " with Retry-After"
    const down = `${status}${after}, ${counted(goods.runs[paths.report], "run")}`
    const again = yield* send(paths.report, payment)
    const up = `${again.status}, ${counted(goods.runs[paths.report], "run")}, ${counted(yield* transfers, "transfer")}`
    return `${down}; then ${up}`
  }),
  shows: {
    ours: /^503 with Retry-After, 0 runs; then 200, 1 run, 1 transfer$/,
    peer: /^402, 0 runs; then 200, 1 run, 1 transfer$/,
    legacy: /^402, 0 runs; then 200, 1 run, 1 transfer$/
  }
}
