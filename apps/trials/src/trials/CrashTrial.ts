/**
 * G1: a facilitator that is killed at random times under load loses nothing, and everybody who has paid is served: those who
 * ask it themselves, and the buyers of a shop that lives on, ours and the peer's.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

import * as PaymentStory from "../audit/PaymentStory.ts"
import * as ServedBooks from "../audit/ServedBooks.ts"
import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as ShopBuyers from "../world/ShopBuyers.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialShop from "../world/TrialShop.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

const usualKills = 200
/** Payments for each kill, of the trial's direct callers and of the shop's buyers. */
const paymentsPerKill = 25
const purchasesPerKill = 10
/** The product's own: the lanes of one that was killed are free at once. */
const leases = { ttl: 9_000, tick: 2_000 }
/** The longest life, in milliseconds from its begin. */
const longestLife = 3_000
/** The longest time for which one that listens is left alone, in milliseconds. */
const longestPeace = 6_000
/** Buyers at once; a short trial has fewer: those of the callers, and of each kind of the shop's. */
const crowdOf = (kills: number) => ({ callers: Math.min(30, 5 * kills), shopBuyers: Math.min(8, 2 * kills) })
/** Time that a buyer of the shop repeats its payment, in milliseconds. */
const usualPatience = 180_000
/** Seconds that an authorization is good for: no caller repeats one that has expired before it was taken in. */
const usualValidity = 300

/** Runs the trial; its size counts the kills. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const world = yield* TrialWorld.make({ validSeconds: usualValidity, ...options }, { leases, operations: true })
  const kills = options.size ?? usualKills
  const { callers, shopBuyers } = crowdOf(kills)
  const facilitator = yield* world.facilitator()
  yield* facilitator.listening
  const shop = yield* TrialShop.make(world, facilitator.url)
  const began = performance.now()
  const purchases: Array<ShopBuyers.ShopPurchase> = []
  const patienceMillis = options.patienceMillis ?? usualPatience
  let isOver = false
  const shopping = yield* Effect.forkScoped(
    ShopBuyers.run(
      { world, shop, concurrency: shopBuyers, patienceMillis },
      purchases,
      (begun) => isOver && begun >= kills * purchasesPerKill
    )
  )
  const strikes = Effect.forEach(Array.from({ length: kills }), (_, kill) =>
    strike(facilitator, world.random.branch(`kill${kill}`))
  )
  const outcome = yield* TrialAct.underLoad(
    world,
    { facilitators: [facilitator.url], concurrency: callers, payments: kills * paymentsPerKill },
    Effect.andThen(strikes, () => {
      isOver = true
      return Fiber.join(shopping)
    })
  )
  const evidence = { purchases, served: shop.served, lives: facilitator.lives, chain: outcome.said.chain }
  const unanswered = unansweredIn(outcome.said, facilitator.url)
  return {
    goal: "G1",
    title: `${kills} times SIGKILL under load`,
    options,
    figures: {
      kills,
      ...TrialAct.figures(outcome),
      ...ServedBooks.figures(evidence),
      "without a claim, paid and never told so": unanswered.length,
      seconds: Math.round((performance.now() - began) / 1000)
    },
    findings: [...outcome.findings, ...ServedBooks.findings(evidence), ...tooMany(unanswered, kills)]
  }
})

/** Every other life is cut at any time, also while it begins; the others are left alone for a while. */
const strike = Effect.fnUntraced(function* (facilitator: FacilitatorLife, luck: TrialRandom) {
  if (luck.perMille(500)) yield* Effect.sleep(luck.between(0, longestLife))
  else {
    yield* facilitator.listening
    yield* Effect.sleep(luck.between(0, longestPeace))
  }
  yield* facilitator.signal("SIGKILL")
})

/** Payments that were brought without a claim and moved the money, but whose callers were never notified. */
const unansweredIn = (said: PaymentStory.Testimony, facilitator: string): ReadonlyArray<string> =>
  PaymentStory.all(said)
    .filter(
      ({ exchanges, transfers }) => transfers.length > 0 && exchanges.every(({ sent }) => isPlain(sent, facilitator))
    )
    .filter((story) => PaymentStory.verdicts(story, "settle").every(({ success }) => !success))
    .map(({ key }) => key)

const isPlain = (sent: PaymentStory.Exchange["sent"], facilitator: string): boolean =>
  sent.facilitator === facilitator && sent.operation === "settle" && sent.claimId === undefined

/**
 * A response is marked as given before it is sent, so that none is given twice. A kill in the milliseconds between leaves one
 * payment unanswered; more than one in four kills never meets that.
 */
const tooMany = (unanswered: ReadonlyArray<string>, kills: number): ReadonlyArray<Broken> =>
  unanswered.length <= Math.ceil(kills / 4)
    ? []
    : unanswered.map((key) => ({ check: "unanswered", detail: `${key} was paid, and no caller was notified` }))
