/**
 * `HEAD` of a resource that is sold for `GET`: routers answer it with the handler for `GET`.
 */
import * as Effect from "effect/Effect"

import { paths } from "../shops/Goods.ts"
import { type Behaviour, counted } from "./Behaviour.ts"
import * as Stage from "./Stage.ts"

/** Seen at every shop without a payment. */
export const headRequest: Behaviour = {
  title: "HEAD without a payment, where GET is sold",
  see: Effect.fnUntraced(function* (stage, shop) {
    const { goods, url } = yield* Stage.open(stage, shop, Stage.peerBuyer(shop))
    const { status } = yield* Effect.promise(() => fetch(`${url}${paths.report}`, { method: "HEAD" }))
    return `${status}, ${counted(goods.runs[paths.report], "run")}`
  }),
  shows: { ours: /^402, 0 runs$/, peer: /^200, 1 run$/, legacy: /^200, 1 run$/ }
}
