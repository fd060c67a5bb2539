/**
 * Unintended charges by a shop: money taken for a request that the application refuses, and taken again for the corrected
 * request. Also abuse by buyers of the rule that prevents such charges.
 */
import * as Effect from "effect/Effect"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

/** A payment whose request the application has refused with 404. */
const refusedOnce = Effect.fnUntraced(function* (stage: AttackStage) {
  const shop = yield* stage.usualShop
  const offer = yield* HostileCall.offerAt(`${shop.url}/lookup?id=2`)
  const wallet = yield* stage.wallet(BigInt(offer.amount) * 5n)
  const signed = yield* Effect.promise(() => wallet.sign(offer))
  const headers = HostileWallet.inX402(signed, offer)
  const refused = yield* HostileCall.send(`${shop.url}/lookup?id=2`, { headers })
  if (refused.status !== 404) return yield* Effect.die(new Error(`it was answered ${refused.status}, not 404`))
  return { shop, offer, wallet, headers }
})

/** Counts every status of 400 to 499 as served. */
const fourHundredsAreServed = {
  module: "core/src/server/http/Decision",
  piece: 'status >= 400 ? "refused" : "served"',
  instead: 'status >= 400 ? "served" : "served"'
}

const chargedTwice: Attack = {
  name: "charged-for-a-refusal",
  what: "a buyer pays for a record that does not exist, gets 404, and asks for one that does with the same payment",
  expected: "the corrected request is served, one transfer in all",
  targets: ["pontage", "x402"],
  mutation: [fourHundredsAreServed],
  run: Effect.fnUntraced(function* (stage) {
    const { headers, offer, shop, wallet } = yield* refusedOnce(stage)
    const again = yield* HostileCall.patiently(`${shop.url}/lookup?id=1`, headers)
    const transfers = (yield* stage.chain.spent(wallet.address)).length
    return {
      held: HostileCall.isServed(again) && transfers === 1,
      seen: `404, then ${again.status}; ${transfers} transfers`,
      attackerCost: `${offer.amount} units`,
      targetCost: "nothing"
    }
  })
}

const refusedForMore: Attack = {
  name: "refused-and-shown-elsewhere",
  what: "a payment whose request was refused is shown at a dearer route, at another route of its price, and five times more",
  expected: "no other route opens, and no more than one response is served",
  targets: ["pontage", "x402"],
  mutation: [
    { module: "core/src/facilitator/store/Execution", piece: "self.route === route", instead: "route !== self.holder" },
    { module: "core/src/facilitator/store/Execution", piece: 'served: outcome === "served"', instead: "served: false" }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { headers, offer, shop, wallet } = yield* refusedOnce(stage)
    const others = yield* Effect.forEach(["/product", "/report"], (path) =>
      HostileCall.patiently(`${shop.url}${path}`, headers)
    )
    const own = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () =>
      HostileCall.patiently(`${shop.url}/lookup?id=1`, headers)
    )
    const elsewhere = others.filter(HostileCall.isServed).length
    const served = own.filter(HostileCall.isServed).length
    const transfers = (yield* stage.chain.spent(wallet.address)).length
    return {
      held: elsewhere === 0 && served <= 1 && transfers <= 1,
      seen: `elsewhere ${others.map(({ status }) => status).join(", ")}; its own ${own.map(({ status }) => status).join(", ")}; ${transfers} transfers`,
      attackerCost: `${offer.amount} units`,
      targetCost: elsewhere + served <= 1 ? "nothing" : `${elsewhere + served - 1} answers`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [chargedTwice, refusedForMore]
