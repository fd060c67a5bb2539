/**
 * A paid response that is lost on its way: the shop has settled and served, and the buyer sees a broken connection. The
 * program behind the buyer does what programs do, and asks once more.
 */
import * as Effect from "effect/Effect"

import { isPaying } from "../buyers/SignedPayment.ts"
import type { BuyerName } from "../matrix/Parties.ts"
import { paths } from "../shops/Goods.ts"
import { type Behaviour, counted } from "./Behaviour.ts"
import * as Stage from "./Stage.ts"

const loseFirst = Effect.fnUntraced(function* (stage: Stage.Stage, shop: Stage.Compared, buyer: BuyerName) {
  const { buyOver, goods, transfers, url } = yield* Stage.open(stage, shop, buyer)
  const buy = buyOver(losing())
  yield* Effect.promise(() => outcomeOf(buy(`${url}${paths.report}`)))
  const again = yield* Effect.promise(() => outcomeOf(buy(`${url}${paths.report}`)))
  return `${again}, ${counted(goods.runs[paths.report], "run")}, ${counted(yield* transfers, "transfer")}`
})

/** A network that loses the first paid response. */
const losing = (): typeof fetch => {
  let lost = false
  return async (input, init) => {
    const request = new Request(input, init)
    const response = await fetch(request)
    if (lost || !isPaying(request)) return response
    lost = true
    await response.arrayBuffer()
    throw new TypeError("fetch failed")
  }
}

const outcomeOf = async (asked: Promise<Response>): Promise<string> =>
  asked.then(
    ({ status }) => `${status}`,
    (error: unknown) => (error instanceof Error ? error.name : "an error")
  )

/** Seen with everybody's own client. */
export const answerLost: Behaviour = {
  title: "the paid response is lost, and the program asks again (ours: our client)",
  see: (stage, shop) => loseFirst(stage, shop, Stage.isOurs(shop) ? "ours" : Stage.peerBuyer(shop)),
  shows: {
    ours: /^ValidationError, 1 run, 1 transfer$/,
    peer: /^200, 2 runs, 2 transfers$/,
    legacy: /^200, 2 runs, 2 transfers$/
  }
}

/** The same with our client everywhere. */
export const answerLostToUs: Behaviour = {
  title: "the same with our client everywhere",
  see: (stage, shop) => loseFirst(stage, shop, "ours"),
  shows: {
    ours: /^ValidationError, 1 run, 1 transfer$/,
    peer: /^PaymentRefused, 1 run, 1 transfer$/,
    legacy: /^PaymentRefused, 1 run, 1 transfer$/
  }
}
