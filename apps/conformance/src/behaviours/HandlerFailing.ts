/**
 * A paid handler that responds with 500, and works when the same payment comes again.
 */
import * as Effect from "effect/Effect"

import type { BuyerName } from "../matrix/Parties.ts"
import type { ShopOptions } from "../RoleOptions.ts"
import { paths } from "../shops/Goods.ts"
import { type Behaviour, counted } from "./Behaviour.ts"
import * as Stage from "./Stage.ts"

const failOnce = Effect.fnUntraced(function* (
  stage: Stage.Stage,
  shop: Stage.Compared,
  buyer: BuyerName,
  settle: NonNullable<ShopOptions["settle"]>
) {
  const { goods, send, sign, transfers } = yield* Stage.open(stage, shop, buyer, { settle })
  goods.failuresLeft = 1
  const payment = yield* sign(paths.flaky)
  const first = yield* send(paths.flaky, payment)
  const charged = yield* transfers
  const second = yield* send(paths.flaky, payment)
  const runs = counted(goods.runs[paths.flaky], "run")
  return `${first.status}, ${counted(charged, "transfer")}; then ${second.status}, ${runs}, ${counted(yield* transfers, "transfer")}`
})

const uncharged = /^500, 0 transfers; then 200, 2 runs, 1 transfer$/

/** Seen at our shops with payments of our client: who has paid is served when the same payment comes again. */
export const handlerFailing: Behaviour = {
  title: "the handler fails; then the same payment comes again (ours: our client)",
  see: (stage, shop) => failOnce(stage, shop, Stage.isOurs(shop) ? "ours" : Stage.peerBuyer(shop), "before-handler"),
  shows: { ours: /^500, 1 transfer; then 200, 2 runs, 1 transfer$/, peer: uncharged, legacy: uncharged }
}

/** The same with payments of the peers' client, which repeat the token of the offer that they pay. */
export const unboundHandlerFailing: Behaviour = {
  title: "the same with the peer's client",
  see: (stage, shop) => failOnce(stage, shop, Stage.peerBuyer(shop), "before-handler"),
  shows: { ours: /^500, 1 transfer; then 200, 2 runs, 1 transfer$/, peer: uncharged, legacy: uncharged }
}

/** The same where our route settles after its handler, as the peers' always do. */
export const uncharging: Behaviour = {
  title: "the same where our route settles after its handler",
  see: (stage, shop) => failOnce(stage, shop, Stage.peerBuyer(shop), "after-handler"),
  shows: { ours: uncharged, peer: uncharged, legacy: uncharged }
}
