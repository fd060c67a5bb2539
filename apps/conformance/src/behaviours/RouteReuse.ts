/**
 * A payment for one resource, sent to another one at the same price.
 */
import * as Effect from "effect/Effect"

import type { BuyerName } from "../matrix/Parties.ts"
import { paths } from "../shops/Goods.ts"
import { type Behaviour, counted } from "./Behaviour.ts"
import * as Stage from "./Stage.ts"

const sendElsewhere = Effect.fnUntraced(function* (stage: Stage.Stage, shop: Stage.Compared, buyer: BuyerName) {
  const { goods, send, sign, transfers } = yield* Stage.open(stage, shop, buyer, { binding: "required" })
  const { status, text } = yield* send(paths.other, yield* sign(paths.report))
  const why = /"detail":"(\w+)"/.exec(text)?.[1]
  const answer = why === undefined ? `${status}` : `${status} ${why}`
  return `${answer}, ${counted(goods.runs[paths.other], "run")}, ${counted(yield* transfers, "transfer")}`
})

/** Seen at our shops with payments of our client, which binds them, and at the peers' with payments of theirs. */
export const routeReuse: Behaviour = {
  title: "a payment for another route of the same price (ours: binding required)",
  see: (stage, shop) => sendElsewhere(stage, shop, Stage.isOurs(shop) ? "ours" : Stage.peerBuyer(shop)),
  shows: {
    ours: /^402 other_request, 0 runs, 0 transfers$/,
    peer: /^200, 1 run, 1 transfer$/,
    legacy: /^200, 1 run, 1 transfer$/
  }
}

/** The same with payments of the peers' client, which binds none. */
export const unboundRouteReuse: Behaviour = {
  title: "the same with the peer's client, which does not bind its payments",
  see: (stage, shop) => sendElsewhere(stage, shop, Stage.peerBuyer(shop)),
  shows: {
    ours: /^402 binding_missing, 0 runs, 0 transfers$/,
    peer: /^200, 1 run, 1 transfer$/,
    legacy: /^200, 1 run, 1 transfer$/
  }
}
